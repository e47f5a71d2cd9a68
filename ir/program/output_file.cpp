#include "ir/program/output_file.h"

#include "ir/program/error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace warploom {

llvm::Error writeWhole(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  using namespace llvm::sys::fs;
  // A device such as /dev/null or a pipe has no place beside it.
  if (file_status status; !llvm::sys::fs::status(path, status) && exists(status) &&
                          !is_regular_file(status) && !is_directory(status)) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path, error);
    if (!error) {
      write(stream);
      stream.flush();
      error = stream.error();
      stream.clear_error();
    }
    return error ? makeError("cannot write '{0}': {1}", path, error.message())
                 : llvm::Error::success();
  }
  llvm::Expected<TempFile> file = TempFile::create(path + ".%%%%%%.part", all_read | all_write);
  if (!file)
    return makeError("cannot write '{0}': {1}", path, llvm::toString(file.takeError()));
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  write(stream);
  stream.flush();
  if (std::error_code error = stream.error()) {
    stream.clear_error(); // an unhandled one would end the process
    llvm::consumeError(file->discard());
    return makeError("cannot write '{0}': {1}", path, error.message());
  }
  if (llvm::Error error = file->keep(path))
    return makeError("cannot write '{0}': {1}", path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

} // namespace warploom
