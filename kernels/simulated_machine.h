// What the simulator offers to a kernel compiled for the host: a table of functions, so that the
// compiled kernel needs no symbol of the process that loads it.
#pragma once

namespace warploom {

// Where in the emitted code or its headers a primitive was called.
struct CallSite {
  const char *file;
  int line;
};

enum class MemoryAccess { read, readOnce, write };

struct SimulatedMachine {
  int (*threadIndex)();
  int (*blockIndex)(int axis);
  int (*blockCount)();
  char *(*sharedMemory)();
  // Waits until `count` threads (0: all that have not returned) wait at this barrier.
  void (*syncThreads)(int barrier, int count, CallSite site);
  // Waits until all lanes of the warp have come here with `bytes` (at most 64) of their own;
  // returns 32 slots of 64 bytes with what each brought.
  const char *(*gather)(const void *own, unsigned bytes, CallSite site);
  // Stops the kernel with a message unless the access is allowed.
  void (*check)(const void *address, unsigned long bytes, MemoryAccess access,
                unsigned long alignment, CallSite site);
  void (*copyAsync16)(void *shared, const void *global, bool valid, CallSite site);
  void (*commitCopies)();
  void (*waitCopies)(int pending);
};

} // namespace warploom
