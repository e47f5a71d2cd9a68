# Writes OUTPUT, a C++ file that defines embeddedHeaders() over HEADERS (paths relative to ROOT).
# Run as: cmake -DROOT=... -DOUTPUT=... "-DHEADERS=a;b" -P embed_headers.cmake
list(SORT HEADERS)
set(entries "")
foreach(header IN LISTS HEADERS)
  file(READ "${ROOT}/${header}" text)
  # A string literal may hold 65536 characters by the standard's minimum; headers are far shorter.
  string(APPEND entries "    {\"${header}\", R\"warploom(${text})warploom\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"kernels/embedded.h\"

namespace warploom {

llvm::ArrayRef<EmbeddedHeader> embeddedHeaders() {
  static const EmbeddedHeader headers[] = {
${entries}  };
  return headers;
}

} // namespace warploom
")
