#include "tools/safetensors.h"

#include "ir/program/error.h"
#include "ir/program/output_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace warploom {
namespace {

constexpr uint64_t kLongestHeader = 100'000'000; // bytes, the format's own limit

struct Spelling {
  llvm::StringLiteral name;
  DType dtype;
};
constexpr Spelling kSpellings[] = {
    {"F32", DType::f32},        {"F16", DType::f16}, {"BF16", DType::bf16},
    {"F64", DType::f64},        {"BOOL", DType::i1}, {"I8", DType::i8},
    {"U8", DType::u8},          {"I16", DType::i16}, {"U16", DType::u16},
    {"I32", DType::i32},        {"I64", DType::i64}, {"F8_E4M3", DType::f8e4m3},
    {"F8_E5M2", DType::f8e5m2},
};

struct Entry {
  std::string name;
  Tensor tensor;
  uint64_t begin = 0, end = 0;
};

// The message names file and tensor; the caller has them.
llvm::Error parseEntry(const llvm::json::Value &value, Entry &entry) {
  const llvm::json::Object *object = value.getAsObject();
  const llvm::json::Array *shape = object ? object->getArray("shape") : nullptr;
  const llvm::json::Array *offsets = object ? object->getArray("data_offsets") : nullptr;
  std::optional<llvm::StringRef> dtype = object ? object->getString("dtype") : std::nullopt;
  if (!shape || !offsets || offsets->size() != 2 || !dtype)
    return makeError("needs dtype, shape and two data_offsets");
  const Spelling *spelling =
      llvm::find_if(kSpellings, [&](const Spelling &s) { return s.name == *dtype; });
  if (spelling == std::end(kSpellings))
    return makeError("is of the unknown dtype '{0}'", *dtype);
  entry.tensor.dtype = spelling->dtype;
  uint64_t bytes = byteSize(spelling->dtype);
  for (const llvm::json::Value &dim : *shape) {
    std::optional<int64_t> size = dim.getAsInteger();
    bool overflows = false;
    if (!size || *size < 0)
      return makeError("has a dim that is no size");
    bytes = llvm::SaturatingMultiply<uint64_t>(bytes, *size, &overflows);
    if (overflows)
      return makeError("has more bytes than 64 bits count");
    entry.tensor.dims.push_back(*size);
  }
  std::optional<int64_t> begin = (*offsets)[0].getAsInteger(), end = (*offsets)[1].getAsInteger();
  if (!begin || !end || *begin < 0 || *end < *begin)
    return makeError("has data_offsets that are no range");
  entry.begin = *begin;
  entry.end = *end;
  if (entry.end - entry.begin != bytes)
    return makeError("has {0} bytes, but its dtype and shape need {1}", entry.end - entry.begin,
                     bytes);
  return llvm::Error::success();
}

// Tensors lie side by side and fill the data.
llvm::Error checkCover(std::vector<Entry> &entries, uint64_t dataBytes) {
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t next = 0;
  for (const Entry &entry : entries) {
    if (entry.end > dataBytes)
      return makeError(
          "'{0}' ends at byte {1}, but the file has {2} bytes of data: it is truncated, "
          "or its header lies",
          entry.name, entry.end, dataBytes);
    if (entry.begin != next)
      return makeError("'{0}' starts at byte {1} where {2} was expected: tensors overlap or leave "
                       "gaps",
                       entry.name, entry.begin, next);
    next = entry.end;
  }
  if (next != dataBytes)
    return makeError("{0} bytes behind the last tensor belong to none", dataBytes - next);
  return llvm::Error::success();
}

llvm::Expected<NamedTensors> parse(llvm::StringRef text) {
  if (text.size() < 8)
    return makeError("it has {0} bytes, too few for a header length", text.size());
  uint64_t headerBytes = llvm::support::endian::read64le(text.data());
  if (headerBytes > kLongestHeader || headerBytes > text.size() - 8)
    return makeError("its header is said to have {0} bytes, but the file has {1}", headerBytes,
                     text.size());
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(text.substr(8, headerBytes));
  if (!header)
    return makeError("its header is no JSON: {0}", llvm::toString(header.takeError()));
  const llvm::json::Object *object = header->getAsObject();
  if (!object)
    return makeError("its header is no JSON object");
  llvm::StringRef data = text.drop_front(8 + headerBytes);
  std::vector<Entry> entries;
  for (const auto &[name, value] : *object) {
    if (name == "__metadata__")
      continue;
    Entry entry;
    entry.name = name.str();
    if (llvm::Error error = parseEntry(value, entry))
      return makeError("'{0}' {1}", entry.name, llvm::toString(std::move(error)));
    entries.push_back(std::move(entry));
  }
  if (llvm::Error error = checkCover(entries, data.size()))
    return error;
  NamedTensors tensors;
  for (Entry &entry : entries) {
    const auto *bytes = reinterpret_cast<const std::byte *>(data.data());
    entry.tensor.bytes.assign(bytes + entry.begin, bytes + entry.end);
    tensors.emplace_back(std::move(entry.name), std::move(entry.tensor));
  }
  return tensors;
}

} // namespace

llvm::Expected<NamedTensors> readSafetensors(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError("cannot read '{0}': {1}", path, file.getError().message());
  llvm::Expected<NamedTensors> tensors = parse((*file)->getBuffer());
  if (!tensors)
    return makeError("'{0}' is no safetensors file: {1}", path,
                     llvm::toString(tensors.takeError()));
  return tensors;
}

llvm::Error writeSafetensors(llvm::StringRef path, const NamedTensors &tensors) {
  llvm::json::Object header;
  uint64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    DType dtype = tensor.dtype;
    const Spelling *spelling =
        llvm::find_if(kSpellings, [=](const Spelling &s) { return s.dtype == dtype; });
    llvm::json::Array shape;
    for (int64_t dim : tensor.dims)
      shape.push_back(dim);
    int64_t begin = offset, end = offset + tensor.bytes.size();
    header[name] = llvm::json::Object{{"dtype", spelling->name},
                                      {"shape", std::move(shape)},
                                      {"data_offsets", llvm::json::Array{begin, end}}};
    offset = end;
  }
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header))).str();
  // Padded so that the data starts at a multiple of eight.
  text.append((8 - text.size() % 8) % 8, ' ');
  return writeWhole(path, [&](llvm::raw_ostream &stream) {
    char length[8];
    llvm::support::endian::write64le(length, text.size());
    stream.write(length, sizeof(length));
    stream << text;
    for (const auto &[name, tensor] : tensors)
      stream.write(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
  });
}

} // namespace warploom
