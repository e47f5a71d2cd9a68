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
  std::vector<llvm::SmallVector<unsigned, 8>> users;
  std::vector<unsigned> inArena;
  for (const auto &[index, buffer] : llvm::enumerate(program.buffers)) {
    users.push_back(usersOf(program, index));
    if (buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::counter)
      inArena.push_back(index);
  }
  // In the order of their first use, so that each finds the memory that is free by then.
  llvm::stable_sort(inArena, [&](unsigned a, unsigned b) { return users[a] < users[b]; });
  auto precedes = [&](unsigned earlier, unsigned later) {
    return program.buffers[earlier].kind == BufferKind::temporary &&
           llvm::all_of(users[earlier], [&](unsigned before) {
             return llvm::all_of(users[later],
                                 [&](unsigned after) { return reaches[before][after]; });
           });
  };
  auto canFollow = [&](const Slot &slot, unsigned buffer) {
    return llvm::all_of(slot.buffers, [&](unsigned earlier) { return precedes(earlier, buffer); });
  };
  for (unsigned index : inArena) {
    const Buffer &buffer = program.buffers[index];
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
