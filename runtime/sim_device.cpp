#include "runtime/device.h"

#include "ir/program/error.h"
#include "runtime/compile_cache.h"
#include "runtime/sim_block.h"
#include "runtime/sim_compile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

namespace warploom {
namespace {

// More to one compilation would leave the other cores idle.
constexpr unsigned kKernelsTogether = 32;

bool isBound(BufferKind kind) {
  return kind == BufferKind::argument || kind == BufferKind::mutable_ || kind == BufferKind::result;
}

class SimExecutable : public Executable {
public:
  SimExecutable(SimMemory &memory, const Program &program, const SimulatorSettings &settings)
      : memory_(memory), program_(program), mostBlocks_(settings.mostBlocks),
        random_(settings.seed), addresses_(program.buffers.size()) {}
  ~SimExecutable() override { memory_.release(arena_); }

  llvm::Error prepare(const llvm::StringMap<int64_t> &symbols, std::vector<HostKernel> kernels);
  llvm::Error bind(unsigned buffer, void *address) override;
  llvm::Error launch() override;
  llvm::Error synchronize() override { return llvm::Error::success(); }
  void *arena() const override { return arena_; }

private:
  // What is evaluated once for a kernel.
  struct Prepared {
    HostKernel code;
    std::array<int64_t, 3> grid;
    std::vector<int64_t> integers; // values of its integer parameters, in order
  };
  llvm::Error launchKernel(const Kernel &kernel, const Prepared &prepared);

  SimMemory &memory_;
  Program program_;
  uint64_t mostBlocks_;
  std::mt19937_64 random_;
  std::vector<std::byte *> addresses_;
  std::vector<int64_t> sizes_;
  std::vector<Prepared> prepared_;
  std::byte *arena_ = nullptr;
};

llvm::Error SimExecutable::prepare(const llvm::StringMap<int64_t> &symbols,
                                   std::vector<HostKernel> kernels) {
  llvm::Expected<int64_t> arenaBytes = program_.arenaBytes.evaluate(symbols);
  if (!arenaBytes)
    return arenaBytes.takeError();
  arena_ = memory_.allocate(*arenaBytes);
  for (const auto &[index, buffer] : llvm::enumerate(program_.buffers)) {
    llvm::Expected<int64_t> bytes = buffer.bytes.evaluate(symbols);
    if (!bytes)
      return bytes.takeError();
    sizes_.push_back(*bytes);
    if (isBound(buffer.kind))
      continue;
    llvm::Expected<int64_t> offset = buffer.arenaOffset.evaluate(symbols);
    if (!offset)
      return offset.takeError();
    addresses_[index] = arena_ + *offset;
    if (buffer.kind == BufferKind::counter) {
      std::memset(addresses_[index], 0, *bytes);
      memory_.find(arena_, 0)->markWritten(*offset, *bytes, true);
    }
  }
  for (const auto &[kernel, code] : llvm::zip(program_.kernels, kernels)) {
    Prepared prepared{code, {}, {}};
    for (unsigned axis = 0; axis < 3; ++axis) {
      llvm::Expected<int64_t> extent = kernel.grid[axis].evaluate(symbols);
      if (!extent)
        return extent.takeError();
      prepared.grid[axis] = *extent;
    }
    for (const KernelArgument &argument : kernel.arguments) {
      if (argument.kind != KernelArgument::Kind::integer)
        continue;
      llvm::Expected<int64_t> value = argument.value.evaluate(symbols);
      if (!value)
        return value.takeError();
      prepared.integers.push_back(*value);
    }
    prepared_.push_back(std::move(prepared));
  }
  return llvm::Error::success();
}

llvm::Error SimExecutable::bind(unsigned buffer, void *address) {
  if (buffer >= program_.buffers.size() || !isBound(program_.buffers[buffer].kind))
    return makeError("buffer {0} is not one that a caller binds", buffer);
  const Buffer &described = program_.buffers[buffer];
  if (reinterpret_cast<uintptr_t>(address) % described.alignmentBytes != 0)
    return makeError("the address of '{0}' is not aligned to {1} bytes", described.name,
                     described.alignmentBytes);
  if (sizes_[buffer] > 0 && !memory_.find(address, sizes_[buffer]))
    return makeError("'{0}' needs {1} bytes of the device's memory at the bound address",
                     described.name, sizes_[buffer]);
  addresses_[buffer] = static_cast<std::byte *>(address);
  return llvm::Error::success();
}

llvm::Error SimExecutable::launch() {
  for (const auto &[buffer, address] : llvm::zip(program_.buffers, addresses_))
    if (!address)
      return makeError("'{0}' is not bound", buffer.name);
  // Nothing may read what an earlier run left in a temporary.
  SimAllocation *arena = memory_.find(arena_, 0);
  for (const auto &[index, buffer] : llvm::enumerate(program_.buffers))
    if (buffer.kind == BufferKind::temporary)
      arena->markWritten(addresses_[index] - arena_, sizes_[index], false);
  for (const auto &[kernel, prepared] : llvm::zip(program_.kernels, prepared_))
    if (llvm::Error error = launchKernel(kernel, prepared))
      return error;
  return llvm::Error::success();
}

llvm::Error SimExecutable::launchKernel(const Kernel &kernel, const Prepared &prepared) {
  SimLaunch launch;
  launch.kernel = kernel.name + " (" + llvm::join(kernel.ops, "; ") + ")";
  launch.grid = prepared.grid;
  launch.blockThreads = kernel.blockThreads;
  launch.sharedBytes = kernel.sharedBytes;
  launch.mostBlocks = mostBlocks_;
  std::vector<void *> pointers(kernel.arguments.size());
  std::vector<int64_t> integers = prepared.integers;
  std::vector<void *> parameters;
  unsigned nextInteger = 0;
  for (const auto &[place, argument] : llvm::enumerate(kernel.arguments)) {
    if (argument.kind == KernelArgument::Kind::integer) {
      parameters.push_back(&integers[nextInteger++]);
      continue;
    }
    std::byte *address = addresses_[argument.buffer];
    if (program_.buffers[argument.buffer].kind == BufferKind::counter)
      launch.mostBlocks = 0;
    pointers[place] = address;
    parameters.push_back(&pointers[place]);
    launch.ranges.push_back({address, uint64_t(sizes_[argument.buffer]),
                             memory_.find(address, sizes_[argument.buffer]),
                             llvm::is_contained(kernel.writes, argument.buffer),
                             program_.buffers[argument.buffer].name});
  }
  launch.run = [&] { prepared.code.invoke(parameters.data()); };
  return simulate(launch, random_);
}

class SimDevice : public Device {
public:
  SimDevice(std::string compiler, std::string cacheDirectory, const SimulatorSettings &settings)
      : compiler_(std::move(compiler)), cacheDirectory_(std::move(cacheDirectory)),
        settings_(settings) {}

  std::string description() const override {
    return llvm::formatv("simulator, seed {0}", settings_.seed).str();
  }
  llvm::Expected<void *> allocate(uint64_t bytes) override { return memory_.allocate(bytes); }
  void release(void *address) override { memory_.release(address); }
  llvm::Error write(void *address, llvm::ArrayRef<std::byte> bytes) override {
    SimAllocation *allocation = memory_.find(address, bytes.size());
    if (!allocation)
      return makeError("{0} bytes do not fit the device's memory there", bytes.size());
    std::memcpy(address, bytes.data(), bytes.size());
    allocation->markWritten(static_cast<std::byte *>(address) - allocation->data(), bytes.size(),
                            true);
    return llvm::Error::success();
  }
  llvm::Error read(llvm::MutableArrayRef<std::byte> bytes, const void *address) override {
    if (!memory_.find(address, bytes.size()))
      return makeError("{0} bytes do not lie in the device's memory there", bytes.size());
    std::memcpy(bytes.data(), address, bytes.size());
    return llvm::Error::success();
  }
  llvm::Expected<std::unique_ptr<Executable>> load(const Program &program,
                                                   const llvm::StringMap<int64_t> &symbols,
                                                   llvm::ArrayRef<CompiledKernel>) override {
    if (llvm::Error error = verify(program))
      return error;
    std::vector<const Kernel *> missing;
    for (const Kernel &kernel : program.kernels)
      if (!compiled_.contains(kernel.source))
        missing.push_back(&kernel);
    if (llvm::Error error = compileKernels(missing, /*kernelsPerLibrary=*/1))
      return error;
    std::vector<HostKernel> kernels;
    for (const Kernel &kernel : program.kernels)
      kernels.push_back(compiled_.lookup(kernel.source));
    auto executable = std::make_unique<SimExecutable>(memory_, program, settings_);
    if (llvm::Error error = executable->prepare(symbols, std::move(kernels)))
      return error;
    return executable;
  }

  llvm::Error compileAhead() {
    std::vector<const Kernel *> kernels;
    llvm::StringSet<> seen;
    for (const Program *program : settings_.ahead)
      for (const Kernel &kernel : program->kernels)
        if (seen.insert(kernel.source).second)
          kernels.push_back(&kernel);
    return compileKernels(kernels, kKernelsTogether);
  }

private:
  llvm::Error compileKernels(llvm::ArrayRef<const Kernel *> kernels, unsigned kernelsPerLibrary) {
    llvm::Expected<std::vector<HostKernel>> compiled =
        compileForHost(kernels, compiler_, cacheDirectory_, kernelsPerLibrary);
    if (!compiled)
      return compiled.takeError();
    for (const auto &[kernel, host] : llvm::zip(kernels, *compiled))
      compiled_[kernel->source] = host;
    return llvm::Error::success();
  }

  std::string compiler_, cacheDirectory_;
  llvm::StringMap<HostKernel> compiled_; // by source
  SimulatorSettings settings_;
  SimMemory memory_;
};

} // namespace

llvm::Expected<std::unique_ptr<Device>> openSimulator(const SimulatorSettings &settings) {
  llvm::Expected<std::string> compiler = findHostCompiler();
  if (!compiler)
    return compiler.takeError();
  std::vector<std::string> warnings;
  std::string cacheDirectory =
      settings.useCache ? usableCacheDirectory(settings.cacheDirectory, warnings) : "";
  if (settings.warnings)
    llvm::append_range(*settings.warnings, warnings);
  auto device = std::make_unique<SimDevice>(*compiler, std::move(cacheDirectory), settings);
  if (llvm::Error error = device->compileAhead())
    return error;
  return device;
}

} // namespace warploom
