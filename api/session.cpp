#include "api/session.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace warploom {
namespace {

bool isBound(BufferKind kind) {
  return kind != BufferKind::temporary && kind != BufferKind::counter;
}

// Calls visit(dense position, position in the buffer) for every element.
template <class Function>
void forElements(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> strides, int64_t offset,
                 Function &&visit) {
  llvm::SmallVector<int64_t, 4> index(dims.size(), 0);
  int64_t count = elementCount(dims);
  for (int64_t dense = 0, at = offset; dense < count; ++dense) {
    visit(dense, at);
    for (size_t axis = dims.size(); axis-- > 0;) {
      at += strides[axis];
      if (++index[axis] < dims[axis])
        break;
      index[axis] = 0;
      at -= strides[axis] * dims[axis];
    }
  }
}

} // namespace

llvm::Expected<Session> Session::create(Device &device, const Compilation &compilation,
                                        const SymbolBindings &symbols) {
  Session session(device, compilation);
  llvm::Expected<std::unique_ptr<Executable>> executable =
      device.load(compilation.program, symbols, compilation.kernels);
  if (!executable)
    return executable.takeError();
  session.executable_ = std::move(*executable);
  if (llvm::Error error = session.allocate(symbols))
    return error;
  return session;
}

Session::~Session() {
  executable_.reset();
  for (void *address : addresses_)
    if (address)
      device_->release(address);
}

llvm::Error Session::allocate(const SymbolBindings &symbols) {
  auto evaluate = [&](llvm::StringRef name, const SizeExpr &expr, int64_t &value) -> llvm::Error {
    llvm::Expected<int64_t> result = expr.evaluate(symbols);
    if (!result)
      return makeError("'{0}': {1}", name, llvm::toString(result.takeError()));
    value = *result;
    return llvm::Error::success();
  };
  for (unsigned index = 0; index < program_->buffers.size(); ++index) {
    const Buffer &buffer = program_->buffers[index];
    Layout layout;
    std::optional<DType> dtype = parseDType(buffer.dtype);
    layout.isTensor = dtype.has_value();
    layout.dtype = dtype.value_or(DType::u8);
    layout.dims.resize(buffer.dims.size());
    layout.strides.resize(buffer.dims.size());
    for (unsigned axis = 0; axis < buffer.dims.size(); ++axis)
      if (llvm::Error error = evaluate(buffer.name, buffer.dims[axis], layout.dims[axis]))
        return error;
    int64_t stride = 1;
    for (unsigned axis = buffer.dims.size(); axis-- > 0; stride *= layout.dims[axis]) {
      layout.strides[axis] = stride;
      if (!buffer.strides.empty())
        if (llvm::Error error = evaluate(buffer.name, buffer.strides[axis], layout.strides[axis]))
          return error;
    }
    if (llvm::Error error = evaluate(buffer.name, buffer.offsetElements, layout.offset))
      return error;
    if (llvm::Error error = evaluate(buffer.name, buffer.bytes, layout.bytes))
      return error;
    if (!isBound(buffer.kind))
      if (llvm::Error error = evaluate(buffer.name, buffer.arenaOffset, layout.arenaOffset))
        return error;
    layouts_.push_back(layout);
    addresses_.push_back(nullptr);
    if (!isBound(buffer.kind))
      continue;
    // An empty tensor still needs an address that is not null.
    llvm::Expected<void *> address = device_->allocate(std::max<int64_t>(layout.bytes, 1));
    if (!address)
      return makeError("no memory for '{0}': {1}", buffer.name,
                       llvm::toString(address.takeError()));
    addresses_.back() = *address;
    if (llvm::Error error = executable_->bind(index, *address))
      return error;
  }
  for (const ProgramResult &result : program_->results) {
    llvm::SmallVector<int64_t, 4> &dims = resultDims_.emplace_back(result.dims.size());
    for (const auto &[expr, dim] : llvm::zip(result.dims, dims))
      if (llvm::Error error = evaluate(result.name, expr, dim))
        return error;
  }
  return llvm::Error::success();
}

llvm::Error Session::writeTensor(unsigned buffer, const Tensor &tensor) {
  const Layout &layout = layouts_[buffer];
  if (program_->buffers[buffer].strides.empty() && layout.offset == 0)
    return device_->write(addresses_[buffer], tensor.bytes);
  unsigned size = byteSize(layout.dtype);
  std::vector<std::byte> placed(layout.bytes, std::byte(0xff));
  forElements(layout.dims, layout.strides, layout.offset, [&](int64_t dense, int64_t at) {
    std::memcpy(placed.data() + at * size, tensor.bytes.data() + dense * size, size);
  });
  return device_->write(addresses_[buffer], placed);
}

llvm::Expected<Tensor> Session::readTensor(unsigned buffer, const void *address) const {
  const Layout &layout = layouts_[buffer];
  unsigned size = byteSize(layout.dtype);
  std::vector<std::byte> placed(layout.bytes);
  if (llvm::Error error = device_->read(placed, address))
    return error;
  Tensor tensor;
  tensor.dtype = layout.dtype;
  tensor.dims = layout.dims;
  tensor.bytes.resize(tensor.elementCount() * size);
  forElements(layout.dims, layout.strides, layout.offset, [&](int64_t dense, int64_t at) {
    std::memcpy(tensor.bytes.data() + dense * size, placed.data() + at * size, size);
  });
  return tensor;
}

llvm::Expected<RunResult> Session::run(llvm::ArrayRef<Tensor> arguments) {
  if (arguments.size() != program_->arguments.size())
    return makeError("{0} takes {1} arguments, not {2}", program_->name, program_->arguments.size(),
                     arguments.size());
  for (const ProgramResult &result : program_->results) {
    std::vector<std::byte> poison(layouts_[result.buffer].bytes, std::byte(0xff));
    if (llvm::Error error = device_->write(addresses_[result.buffer], poison))
      return error;
  }
  for (const auto &[tensor, buffer] : llvm::zip(arguments, program_->arguments)) {
    const Layout &layout = layouts_[buffer];
    if (tensor.dtype != layout.dtype || tensor.dims != layout.dims)
      return makeError("argument '{0}' is of another dtype or shape than the program's",
                       program_->buffers[buffer].name);
    if (llvm::Error error = writeTensor(buffer, tensor))
      return error;
  }
  if (llvm::Error error = executable_->launch())
    return error;
  if (llvm::Error error = executable_->synchronize())
    return error;
  RunResult result;
  for (unsigned index = 0; index < program_->results.size(); ++index) {
    unsigned buffer = program_->results[index].buffer;
    llvm::Expected<Tensor> tensor = readTensor(buffer, addresses_[buffer]);
    if (!tensor)
      return tensor.takeError();
    tensor->dims = resultDims_[index];
    result.results.push_back(std::move(*tensor));
  }
  for (unsigned buffer : program_->arguments) {
    if (program_->buffers[buffer].kind != BufferKind::mutable_) {
      result.mutated.emplace_back();
      continue;
    }
    llvm::Expected<Tensor> tensor = readTensor(buffer, addresses_[buffer]);
    if (!tensor)
      return tensor.takeError();
    result.mutated.push_back(std::move(*tensor));
  }
  return result;
}

llvm::Expected<std::vector<std::pair<std::string, Tensor>>> Session::temporaries() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto &[index, buffer] : llvm::enumerate(program_->buffers)) {
    if (buffer.kind != BufferKind::temporary || !layouts_[index].isTensor)
      continue;
    const char *address =
        static_cast<const char *>(executable_->arena()) + layouts_[index].arenaOffset;
    llvm::Expected<Tensor> tensor = readTensor(index, address);
    if (!tensor)
      return tensor.takeError();
    all.emplace_back(buffer.name, std::move(*tensor));
  }
  return all;
}

} // namespace warploom
