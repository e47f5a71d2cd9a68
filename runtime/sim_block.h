// Runs the blocks of one kernel on fibers, a thread each, in a random legal order.
#pragma once

#include "kernels/simulated_machine.h"
#include "runtime/sim_memory.h"

#include "llvm/Support/Error.h"

#include <array>
#include <functional>
#include <random>

namespace warploom {

// A buffer that the kernel was given, and what it may do with it.
struct SimRange {
  std::byte *start = nullptr;
  uint64_t bytes = 0;
  SimAllocation *allocation = nullptr;
  bool isWritten = false; // the kernel says that it writes the buffer
  std::string name;
};

struct SimLaunch {
  std::string kernel; // for messages
  std::array<int64_t, 3> grid = {1, 1, 1};
  unsigned blockThreads = 1;
  unsigned sharedBytes = 0;
  std::vector<SimRange> ranges;
  uint64_t mostBlocks = 0; // see SimulatorSettings
  // The compiled kernel: called once per thread.
  std::function<void()> run;
};

// Runs the blocks. Error: the first access outside of the kernel's buffers and shared memory, of
// bytes nobody wrote, or out of alignment; a barrier that not all reach; each with the line of the
// emitted code, block and thread.
llvm::Error simulate(const SimLaunch &launch, std::mt19937_64 &random);

// The table that compiled kernels call; it serves the thread that simulate() is running.
const SimulatedMachine &simulatedMachine();

} // namespace warploom
