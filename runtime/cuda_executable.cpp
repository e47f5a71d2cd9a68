#include "runtime/cuda_executable.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <limits>

namespace warploom {
namespace {

constexpr unsigned kSharedBytesWithoutOptIn = 48 * 1024;

bool isBound(BufferKind kind) {
  return kind == BufferKind::argument || kind == BufferKind::mutable_ || kind == BufferKind::result;
}

std::string describe(const Kernel &kernel) {
  return kernel.name + " (" + llvm::join(kernel.ops, "; ") + ")";
}

class CudaExecutable : public Executable {
public:
  CudaExecutable(const CudaTarget &target, const Program &program)
      : target_(target), driver_(*target.driver), program_(program),
        addresses_(program.buffers.size(), 0), launches_(program.kernels.size()) {}
  ~CudaExecutable() override;

  llvm::Error prepare(const llvm::StringMap<int64_t> &symbols,
                      llvm::ArrayRef<CompiledKernel> kernels);
  llvm::Error bind(unsigned buffer, void *address) override;
  llvm::Error launch() override;
  llvm::Error synchronize() override;
  void *arena() const override { return reinterpret_cast<void *>(arena_); }

private:
  // A kernel and its node. `values` are its parameters, eight bytes each, of which the driver
  // reads as many as the kernel declares.
  struct Launch {
    cuda::GraphNode node = nullptr;
    cuda::KernelNode parameters;
    std::vector<uint64_t> values;
    std::vector<void *> pointers;
    bool isEmpty = false; // a grid without blocks
    bool isStale = false; // the graph has older values
  };
  llvm::Error check(int result, const llvm::Twine &attempt) const {
    return driver_.check(result, attempt);
  }
  llvm::Error checkArch() const;
  llvm::Error placeArena(const llvm::StringMap<int64_t> &symbols);
  llvm::Error loadKernel(unsigned index, const CompiledKernel &compiled);
  llvm::Error setGrid(unsigned index, const llvm::StringMap<int64_t> &symbols);
  llvm::Error setParameters(unsigned index, const llvm::StringMap<int64_t> &symbols);
  llvm::Error addNode(unsigned index);
  llvm::Error instantiate();
  llvm::Error refresh(unsigned index);

  CudaTarget target_;
  const CudaDriver &driver_;
  Program program_;
  std::vector<cuda::Address> addresses_;
  std::vector<bool> bound_;
  std::vector<Launch> launches_;
  llvm::StringMap<cuda::Module> modules_; // by the symbol of their function
  cuda::Address arena_ = 0;
  cuda::Graph graph_ = nullptr;
  cuda::GraphExec exec_ = nullptr;
};

CudaExecutable::~CudaExecutable() {
  driver_.cuCtxSetCurrent(target_.context);
  // A run may still be using what is freed here.
  driver_.cuStreamSynchronize(target_.stream);
  if (exec_)
    driver_.cuGraphExecDestroy(exec_);
  if (graph_)
    driver_.cuGraphDestroy(graph_);
  for (const auto &module : modules_)
    if (module.second)
      driver_.cuModuleUnload(module.second);
  if (arena_)
    driver_.cuMemFree(arena_);
}

// A plain arch runs on every later GPU (through PTX on the next generations), "f" on those of its
// generation, "a" on itself alone.
llvm::Error CudaExecutable::checkArch() const {
  llvm::StringRef arch = program_.arch;
  int wanted = 0;
  llvm::StringRef number = arch;
  if (!number.consume_front("sm_") || number.consumeInteger(10, wanted))
    return makeError("the program's arch '{0}' is not of the form sm_90", arch);
  bool fits = target_.capability >= wanted;
  if (number == "a")
    fits = target_.capability == wanted;
  else if (number == "f")
    fits = fits && target_.capability / 10 == wanted / 10;
  if (fits)
    return llvm::Error::success();
  return makeError("the program '{0}' is compiled for {1}; this GPU is sm_{2}", program_.name, arch,
                   target_.capability);
}

llvm::Error CudaExecutable::prepare(const llvm::StringMap<int64_t> &symbols,
                                    llvm::ArrayRef<CompiledKernel> kernels) {
  if (kernels.size() != program_.kernels.size())
    return makeError("the program '{0}' has {1} kernels, and {2} were compiled", program_.name,
                     program_.kernels.size(), kernels.size());
  if (llvm::Error error = checkArch())
    return error;
  if (llvm::Error error = placeArena(symbols))
    return error;
  if (llvm::Error error = check(driver_.cuGraphCreate(&graph_, 0), "cannot create a CUDA graph"))
    return error;
  for (unsigned index = 0; index < kernels.size(); ++index) {
    if (llvm::Error error = setGrid(index, symbols))
      return error;
    if (llvm::Error error = setParameters(index, symbols))
      return error;
    if (!launches_[index].isEmpty)
      if (llvm::Error error = loadKernel(index, kernels[index]))
        return error;
    if (llvm::Error error = addNode(index))
      return error;
  }
  return instantiate();
}

llvm::Error CudaExecutable::placeArena(const llvm::StringMap<int64_t> &symbols) {
  llvm::Expected<int64_t> bytes = program_.arenaBytes.evaluate(symbols);
  if (!bytes)
    return bytes.takeError();
  if (*bytes > 0)
    if (llvm::Error error = check(driver_.cuMemAlloc(&arena_, *bytes),
                                  "cannot allocate the arena of '" + llvm::Twine(program_.name) +
                                      "', " + llvm::Twine(*bytes) + " bytes"))
      return error;
  for (const auto &[index, buffer] : llvm::enumerate(program_.buffers)) {
    bound_.push_back(!isBound(buffer.kind));
    if (isBound(buffer.kind))
      continue;
    llvm::Expected<int64_t> offset = buffer.arenaOffset.evaluate(symbols);
    if (!offset)
      return offset.takeError();
    addresses_[index] = arena_ + *offset;
    if (buffer.kind != BufferKind::counter)
      continue;
    llvm::Expected<int64_t> extent = buffer.bytes.evaluate(symbols);
    if (!extent)
      return extent.takeError();
    if (*extent == 0)
      continue;
    if (llvm::Error error = check(driver_.cuMemsetD8(addresses_[index], 0, *extent),
                                  "cannot zero the counter '" + llvm::Twine(buffer.name) + "'"))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error CudaExecutable::setGrid(unsigned index, const llvm::StringMap<int64_t> &symbols) {
  const Kernel &kernel = program_.kernels[index];
  Launch &launch = launches_[index];
  constexpr int64_t kMost[3] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  for (unsigned axis = 0; axis < 3; ++axis) {
    llvm::Expected<int64_t> extent = kernel.grid[axis].evaluate(symbols);
    if (!extent)
      return extent.takeError();
    if (*extent < 0 || *extent > kMost[axis])
      return makeError("the grid of {0} has {1} blocks along axis {2}; a GPU allows 0 to {3}",
                       describe(kernel), *extent, axis, kMost[axis]);
    launch.parameters.grid[axis] = *extent;
    launch.isEmpty |= *extent == 0;
  }
  launch.parameters.block[0] = kernel.blockThreads;
  launch.parameters.sharedBytes = kernel.sharedBytes;
  return llvm::Error::success();
}

llvm::Error CudaExecutable::setParameters(unsigned index, const llvm::StringMap<int64_t> &symbols) {
  Launch &launch = launches_[index];
  for (const KernelArgument &argument : program_.kernels[index].arguments) {
    if (argument.kind == KernelArgument::Kind::buffer) {
      launch.values.push_back(addresses_[argument.buffer]);
      continue;
    }
    llvm::Expected<int64_t> value = argument.value.evaluate(symbols);
    if (!value)
      return value.takeError();
    if (argument.bytes == 4 && *value != int32_t(*value))
      return makeError("{0} of {1} is {2}, which does not fit 32 bits", argument.name,
                       describe(program_.kernels[index]), *value);
    launch.values.push_back(*value);
  }
  for (uint64_t &value : launch.values)
    launch.pointers.push_back(&value);
  launch.parameters.parameters = launch.pointers.data();
  return llvm::Error::success();
}

llvm::Error CudaExecutable::loadKernel(unsigned index, const CompiledKernel &compiled) {
  const Kernel &kernel = program_.kernels[index];
  Launch &launch = launches_[index];
  if (kernel.sharedBytes > unsigned(target_.maxSharedBytes))
    return makeError("{0} needs {1} bytes of shared memory in a block; this GPU has {2}",
                     describe(kernel), kernel.sharedBytes, target_.maxSharedBytes);
  // A cubin runs on its own generation only.
  int arch = 0;
  llvm::StringRef number = llvm::StringRef(program_.arch).drop_front(3);
  number.consumeInteger(10, arch);
  bool sameGeneration = arch / 10 == target_.capability / 10;
  const std::string &image = sameGeneration ? compiled.cubin : compiled.ptx;
  if (image.empty())
    return makeError("{0} has no {1} for this GPU, sm_{2}", describe(kernel),
                     sameGeneration ? "cubin" : "PTX", target_.capability);
  auto [module, isNew] = modules_.try_emplace(kernel.symbol(), nullptr);
  if (isNew)
    if (llvm::Error error = check(driver_.cuModuleLoadData(&module->second, image.data()),
                                  "cannot load the kernel " + describe(kernel)))
      return error;
  cuda::Function &function = launch.parameters.function;
  if (llvm::Error error =
          check(driver_.cuModuleGetFunction(&function, module->second, kernel.symbol().c_str()),
                "the compiled code lacks the kernel " + describe(kernel)))
    return error;
  if (kernel.sharedBytes <= kSharedBytesWithoutOptIn)
    return llvm::Error::success();
  // Before the node is added: adding it checks the limit.
  return check(
      driver_.cuFuncSetAttribute(function, cuda::kMaxDynamicSharedBytes, kernel.sharedBytes),
      "cannot give " + llvm::Twine(kernel.sharedBytes) + " bytes of shared memory to " +
          describe(kernel));
}

llvm::Error CudaExecutable::addNode(unsigned index) {
  Launch &launch = launches_[index];
  std::vector<cuda::GraphNode> after;
  for (const Edge &edge : program_.edges)
    if (edge.to == index)
      after.push_back(launches_[edge.from].node);
  // A kernel without blocks still orders those around it.
  int result = launch.isEmpty
                   ? driver_.cuGraphAddEmptyNode(&launch.node, graph_, after.data(), after.size())
                   : driver_.cuGraphAddKernelNode(&launch.node, graph_, after.data(), after.size(),
                                                  &launch.parameters);
  return check(result, "cannot add a graph node for " + describe(program_.kernels[index]));
}

llvm::Error CudaExecutable::instantiate() {
  cuda::Instantiation parameters;
  int result = driver_.cuGraphInstantiateWithParams(&exec_, graph_, &parameters);
  std::string culprit;
  for (const auto &[kernel, launch] : llvm::zip(program_.kernels, launches_))
    if (launch.node && launch.node == parameters.errorNode)
      culprit = " at " + describe(kernel);
  if (llvm::Error error =
          check(result, "cannot instantiate the graph of '" + llvm::Twine(program_.name) + "'" +
                            culprit + " (result " + llvm::Twine(parameters.result) + ")"))
    return error;
  return check(driver_.cuGraphUpload(exec_, target_.stream),
               "cannot upload the graph of '" + llvm::Twine(program_.name) + "'");
}

llvm::Error CudaExecutable::bind(unsigned buffer, void *address) {
  if (buffer >= program_.buffers.size() || !isBound(program_.buffers[buffer].kind))
    return makeError("buffer {0} is not one that a caller binds", buffer);
  const Buffer &described = program_.buffers[buffer];
  auto value = reinterpret_cast<cuda::Address>(address);
  if (value == 0)
    return makeError("'{0}' is bound to a null address", described.name);
  if (value % described.alignmentBytes != 0)
    return makeError("the address of '{0}' is not aligned to {1} bytes", described.name,
                     described.alignmentBytes);
  bound_[buffer] = true;
  addresses_[buffer] = value;
  for (const auto &[kernel, launch] : llvm::zip(program_.kernels, launches_))
    for (const auto &[argument, stored] : llvm::zip(kernel.arguments, launch.values))
      if (argument.kind == KernelArgument::Kind::buffer && argument.buffer == buffer &&
          stored != value) {
        stored = value;
        launch.isStale = true;
      }
  return llvm::Error::success();
}

llvm::Error CudaExecutable::refresh(unsigned index) {
  Launch &launch = launches_[index];
  if (!launch.isStale || launch.isEmpty)
    return llvm::Error::success();
  if (llvm::Error error =
          check(driver_.cuGraphExecKernelNodeSetParams(exec_, launch.node, &launch.parameters),
                "cannot bind the buffers of " + describe(program_.kernels[index])))
    return error;
  launch.isStale = false;
  return llvm::Error::success();
}

llvm::Error CudaExecutable::launch() {
  for (const auto &[index, buffer] : llvm::enumerate(program_.buffers))
    if (!bound_[index])
      return makeError("'{0}' is not bound", buffer.name);
  if (llvm::Error error =
          check(driver_.cuCtxSetCurrent(target_.context), "cannot use the GPU's context"))
    return error;
  for (unsigned index = 0; index < launches_.size(); ++index)
    if (llvm::Error error = refresh(index))
      return error;
  std::vector<std::string> kernels;
  int result = driver_.cuGraphLaunch(exec_, target_.stream);
  if (result != cuda::kSuccess)
    llvm::transform(program_.kernels, std::back_inserter(kernels), describe);
  return check(result, "cannot launch '" + llvm::Twine(program_.name) + "' with the kernels " +
                           llvm::join(kernels, ", "));
}

llvm::Error CudaExecutable::synchronize() {
  if (llvm::Error error =
          check(driver_.cuCtxSetCurrent(target_.context), "cannot use the GPU's context"))
    return error;
  int result = driver_.cuStreamSynchronize(target_.stream);
  std::vector<std::string> kernels;
  if (result != cuda::kSuccess)
    llvm::transform(program_.kernels, std::back_inserter(kernels), describe);
  return check(result, "a run of '" + llvm::Twine(program_.name) + "' failed, in one of " +
                           llvm::join(kernels, ", "));
}

} // namespace

llvm::Expected<std::unique_ptr<Executable>>
makeCudaExecutable(const CudaTarget &target, const Program &program,
                   const llvm::StringMap<int64_t> &symbols,
                   llvm::ArrayRef<CompiledKernel> kernels) {
  if (llvm::Error error = verify(program))
    return error;
  auto executable = std::make_unique<CudaExecutable>(target, program);
  if (llvm::Error error = executable->prepare(symbols, kernels))
    return error;
  return executable;
}

} // namespace warploom
