#include "ir/target.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace warploom {
namespace {

// From the CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
// Capability"; multiprocessors and L2 are of the largest common part.
struct Row {
  llvm::StringLiteral arch;
  unsigned computeCapability, multiprocessors, sharedKibPerBlock, sharedKibPerMultiprocessor;
  unsigned threadsPerMultiprocessor, l2MiB;
};

constexpr Row kRows[] = {
    {"sm_80", 80, 108, 163, 164, 2048, 40},    {"sm_86", 86, 84, 99, 100, 1536, 6},
    {"sm_87", 87, 16, 163, 164, 1536, 4},      {"sm_89", 89, 128, 99, 100, 1536, 72},
    {"sm_90", 90, 132, 227, 228, 2048, 60},    {"sm_90a", 90, 132, 227, 228, 2048, 60},
    {"sm_100", 100, 148, 227, 228, 2048, 126}, {"sm_100a", 100, 148, 227, 228, 2048, 126},
    {"sm_103", 103, 148, 227, 228, 2048, 126}, {"sm_103a", 103, 148, 227, 228, 2048, 126},
    {"sm_110", 110, 20, 227, 228, 1536, 32},   {"sm_110a", 110, 20, 227, 228, 1536, 32},
    {"sm_120", 120, 170, 99, 100, 1536, 96},   {"sm_120a", 120, 170, 99, 100, 1536, 96},
    {"sm_121", 121, 48, 99, 100, 1536, 24},    {"sm_121a", 121, 48, 99, 100, 1536, 24},
};

} // namespace

llvm::Expected<Target> Target::fromArch(llvm::StringRef arch) {
  const Row *row = llvm::find_if(kRows, [&](const Row &row) { return row.arch == arch; });
  if (row == std::end(kRows)) {
    auto names = llvm::map_range(kRows, [](const Row &row) { return row.arch; });
    return makeError("'{0}' is not an arch; the archs are {1}", arch, llvm::join(names, ", "));
  }
  Target target;
  target.arch = arch.str();
  target.computeCapability = row->computeCapability;
  target.multiprocessors = row->multiprocessors;
  target.sharedBytesPerBlock = row->sharedKibPerBlock * 1024;
  target.sharedBytesPerMultiprocessor = row->sharedKibPerMultiprocessor * 1024;
  target.maxThreadsPerMultiprocessor = row->threadsPerMultiprocessor;
  target.l2Bytes = uint64_t(row->l2MiB) << 20;
  return target;
}

} // namespace warploom
