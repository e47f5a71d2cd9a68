// Where a program runs: a GPU through the driver API, or the simulator on the CPU.
#pragma once

#include "ir/program/program.h"
#include "runtime/compiler.h"

#include <cstddef>
#include <memory>

namespace warploom {

// A program loaded for one set of symbol values; it dies before its device. Buffers that the caller
// binds stay the caller's; the arena belongs to the executable.
class Executable {
public:
  virtual ~Executable() = default;

  // Binds an argument, mutable or result buffer (index into Program::buffers) to device memory.
  // Error: not such a buffer, a null or misaligned address; the message names the buffer.
  virtual llvm::Error bind(unsigned buffer, void *address) = 0;
  // Starts one run. Error: a buffer is unbound, or the driver's words with the source ops.
  virtual llvm::Error launch() = 0;
  // Waits for the runs started so far.
  virtual llvm::Error synchronize() = 0;
  // Start of the arena in device memory; a temporary lies at its arenaOffset.
  virtual void *arena() const = 0;
};

class Device {
public:
  virtual ~Device() = default;

  // "NVIDIA H200, sm_90, driver 13.0", "simulator, seed 7".
  virtual std::string description() const = 0;

  // Device memory, aligned to 256 bytes; freed with the device at the latest.
  virtual llvm::Expected<void *> allocate(uint64_t bytes) = 0;
  virtual void release(void *address) = 0;
  virtual llvm::Error write(void *address, llvm::ArrayRef<std::byte> bytes) = 0;
  virtual llvm::Error read(llvm::MutableArrayRef<std::byte> bytes, const void *address) = 0;

  // Loads a program. `kernels` are its compiled kernels (ignored by the simulator, which compiles
  // the same sources for the host). Error: an unbound symbol, no memory for the arena, a cubin for
  // another GPU; named.
  virtual llvm::Expected<std::unique_ptr<Executable>>
  load(const Program &program, const llvm::StringMap<int64_t> &symbols,
       llvm::ArrayRef<CompiledKernel> kernels) = 0;
};

// The GPU of this ordinal. Error: no driver or no such GPU; what was looked for and where.
llvm::Expected<std::unique_ptr<Device>> openCudaDevice(unsigned ordinal = 0);

struct SimulatorSettings {
  uint64_t seed = 1; // of the random legal order of warps and blocks
  // Runs no more blocks than this of a kernel whose blocks do not meet in a counter: the first, the
  // last, and a random choice; what the others would write stays as it was. 0 = all.
  uint64_t mostBlocks = 0;
  // Compiled when the simulator is opened, many kernels to one compilation, so that loading any of
  // them costs little.
  std::vector<const Program *> ahead = {};
  // As in CompileSettings, for the kernels compiled for the host.
  bool useCache = true;
  std::string cacheDirectory = {};
  std::vector<std::string> *warnings = nullptr; // where set, told of a cache that cannot be used
};

// The simulator. Error: no C++ compiler was found; what was looked for and where.
llvm::Expected<std::unique_ptr<Device>> openSimulator(const SimulatorSettings &settings = {});

} // namespace warploom
