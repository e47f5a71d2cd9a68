// Runs a compiled program on host tensors: memory, transfers, launch.
#pragma once

#include "api/compile.h"
#include "ir/tensor.h"
#include "runtime/device.h"

namespace warploom {

// What a run leaves.
struct RunResult {
  std::vector<Tensor> results;
  // The last state of each mutable argument, by position; empty tensors for the others.
  std::vector<Tensor> mutated;
};

// A program loaded on a device for one set of symbol values. The device outlives the session.
class Session {
public:
  // Error: an unbound symbol, no memory, or what the device says of the kernels.
  static llvm::Expected<Session> create(Device &device, const Compilation &compilation,
                                        const SymbolBindings &symbols);
  Session(Session &&) = default;
  ~Session();

  // One run on dense tensors, in the order of the graph's arguments. Results are poisoned before
  // it. Error: a wrong number, dtype or shape, naming the argument; or the device's words.
  llvm::Expected<RunResult> run(llvm::ArrayRef<Tensor> arguments);

  // Stored temporaries by name, as the last run left them; only of a program that keeps them.
  llvm::Expected<std::vector<std::pair<std::string, Tensor>>> temporaries() const;

private:
  Session(Device &device, const Compilation &compilation)
      : device_(&device), program_(&compilation.program) {}
  llvm::Error allocate(const SymbolBindings &symbols);
  llvm::Error writeTensor(unsigned buffer, const Tensor &tensor);
  llvm::Expected<Tensor> readTensor(unsigned buffer, const void *address) const;

  // A buffer's sizes under the session's symbols.
  struct Layout {
    DType dtype = DType::f32;
    llvm::SmallVector<int64_t, 4> dims, strides;
    int64_t offset = 0, bytes = 0, arenaOffset = 0;
    bool isTensor = true; // scratch space has no elements
  };

  Device *device_;
  const Program *program_;
  std::unique_ptr<Executable> executable_;
  std::vector<Layout> layouts_;
  std::vector<llvm::SmallVector<int64_t, 4>> resultDims_;
  std::vector<void *> addresses_;
};

} // namespace warploom
