#include "codegen/arena.h"

#include "codegen/launch_graph.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {
namespace {

constexpr int64_t kAlignment = 256; // bytes, as the driver's own allocations

// Memory that buffers take one after the other.
struct Slot {
  SizeExpr bytes = 0;
  llvm::SmallVector<unsigned, 4> buffers;
};

llvm::SmallVector<unsigned, 8> usersOf(const Program &program, unsigned buffer) {
  llvm::SmallVector<unsigned, 8> users;
  for (const auto &[index, kernel] : llvm::enumerate(program.kernels))
    if (llvm::is_contained(kernel.reads, buffer) || llvm::is_contained(kernel.writes, buffer))
      users.push_back(index);
  return users;
}

} // namespace

void planArena(Program &program, bool keepTemporaries) {
  std::vector<std::vector<bool>> reaches = reachability(program.kernels.size(), program.edges);
  std::vector<Slot> slots;
  auto canFollow = [&](const Slot &slot, unsigned buffer) {
    unsigned last = slot.buffers.back();
    if (program.buffers[last].kind == BufferKind::counter)
      return false;
    for (unsigned before : usersOf(program, last))
      for (unsigned after : usersOf(program, buffer))
        if (!reaches[before][after])
          return false;
    return true;
  };
  for (const auto &[index, buffer] : llvm::enumerate(program.buffers)) {
    if (buffer.kind != BufferKind::temporary && buffer.kind != BufferKind::counter)
      continue;
    bool mayShare = !keepTemporaries && buffer.kind == BufferKind::temporary;
    auto slot =
        llvm::find_if(slots, [&](const Slot &slot) { return mayShare && canFollow(slot, index); });
    if (slot == slots.end())
      slot = slots.insert(slots.end(), Slot());
    slot->bytes = max(slot->bytes, buffer.bytes);
    slot->buffers.push_back(index);
  }
  SizeExpr offset = 0;
  for (const Slot &slot : slots) {
    for (unsigned buffer : slot.buffers)
      program.buffers[buffer].arenaOffset = offset;
    offset = offset + alignTo(slot.bytes, kAlignment);
  }
  program.arenaBytes = offset;
}

} // namespace warploom
