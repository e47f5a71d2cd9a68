#include "runtime/sim_block.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>

namespace warploom {
namespace {

namespace context = boost::context;

constexpr unsigned kStackBytes = 256 * 1024;
constexpr unsigned kSlotBytes = 64;

// Boost's own traits lie in an archive that a shared library cannot link (Debian builds it without
// -fPIC); a pool of stacks of one size needs no more than this.
struct StackTraits {
  static bool is_unbounded() { return true; }
  static size_t default_size() { return kStackBytes; }
  static size_t minimum_size() { return kStackBytes; }
  static size_t maximum_size() { return kStackBytes; }
};
using StackPool = context::basic_pooled_fixedsize_stack<StackTraits>;

struct PendingCopy {
  void *shared;
  const void *global;
  bool valid;
  CallSite site;
};

enum class ThreadState { ready, atWarp, atBarrier, returned };

struct SimThread {
  context::fiber fiber;     // the thread, while it is suspended
  context::fiber scheduler; // who resumed it, while it runs
  ThreadState state = ThreadState::ready;
  int barrier = 0, barrierCount = 0;
  CallSite site = {nullptr, 0};
  std::vector<PendingCopy> open;               // not yet committed
  std::deque<std::vector<PendingCopy>> groups; // committed, oldest first
};

struct SimWarp {
  // Two sets of slots in turn: a lane that runs ahead fills the other one.
  alignas(64) char slots[2][32 * kSlotBytes];
  unsigned turn = 0, arrived = 0;
};

class BlockRun {
public:
  BlockRun(const SimLaunch &launch, std::array<int64_t, 3> block, std::mt19937_64 &random,
           StackPool &stacks)
      : launch_(launch), block_(block), random_(random), stacks_(stacks),
        shared_(launch.sharedBytes), threads_(launch.blockThreads),
        warps_((launch.blockThreads + 31) / 32) {}

  llvm::Error run();

  // What the running thread asks for.
  unsigned threadIndex() const { return current_; }
  int64_t block(int axis) const { return block_[axis]; }
  const SimLaunch &launch() const { return launch_; }
  char *sharedMemory() { return reinterpret_cast<char *>(shared_.data()); }
  void syncThreads(int barrier, int count, CallSite site);
  const char *gather(const void *own, unsigned bytes, CallSite site);
  void check(const void *address, uint64_t bytes, MemoryAccess access, uint64_t alignment,
             CallSite site);
  SimThread &current() { return threads_[current_]; }
  void finishCopies(int pending);
  [[noreturn]] void fail(CallSite site, const std::string &what);

private:
  void suspend();
  void start(unsigned thread);
  void resume(unsigned thread);
  void releaseBarriers();
  std::string place(CallSite site) const;

  const SimLaunch &launch_;
  std::array<int64_t, 3> block_;
  std::mt19937_64 &random_;
  StackPool &stacks_;
  SimAllocation shared_;
  std::vector<SimThread> threads_;
  std::vector<SimWarp> warps_;
  unsigned current_ = 0;
  std::string failure_;
};

// The block whose thread runs on this thread of the process.
thread_local BlockRun *running = nullptr;

std::string BlockRun::place(CallSite site) const {
  return llvm::formatv("{0}:{1}, block ({2}, {3}, {4}), thread {5}",
                       site.file ? site.file : "unknown", site.line, block_[0], block_[1],
                       block_[2], current_)
      .str();
}

void BlockRun::suspend() {
  SimThread &thread = current();
  thread.scheduler = std::move(thread.scheduler).resume();
}

void BlockRun::fail(CallSite site, const std::string &what) {
  if (failure_.empty())
    failure_ = launch_.kernel + ": " + what + " at " + place(site);
  // The scheduler sees the failure and never resumes this thread: destroying its fiber unwinds it.
  while (true)
    suspend();
}

void BlockRun::start(unsigned index) {
  threads_[index].fiber =
      context::fiber(std::allocator_arg, stacks_, [this, index](context::fiber &&scheduler) {
        SimThread &thread = threads_[index];
        thread.scheduler = std::move(scheduler);
        launch_.run();
        thread.state = ThreadState::returned;
        return std::move(thread.scheduler);
      });
}

void BlockRun::resume(unsigned index) {
  current_ = index;
  SimThread &thread = threads_[index];
  thread.fiber = std::move(thread.fiber).resume();
}

// A barrier opens when as many threads wait as it names, or all that have not returned.
void BlockRun::releaseBarriers() {
  unsigned alive = llvm::count_if(
      threads_, [](const SimThread &thread) { return thread.state != ThreadState::returned; });
  for (int barrier = 0; barrier < 16; ++barrier) {
    std::vector<SimThread *> waiting;
    for (SimThread &thread : threads_)
      if (thread.state == ThreadState::atBarrier && thread.barrier == barrier)
        waiting.push_back(&thread);
    if (waiting.empty())
      continue;
    unsigned wanted = waiting.front()->barrierCount ? waiting.front()->barrierCount : alive;
    if (waiting.size() == wanted)
      for (SimThread *thread : waiting)
        thread->state = ThreadState::ready;
  }
}

llvm::Error BlockRun::run() {
  BlockRun *outer = std::exchange(running, this);
  for (unsigned thread = 0; thread < threads_.size(); ++thread)
    start(thread);
  std::vector<unsigned> order(warps_.size());
  for (unsigned warp = 0; warp < order.size(); ++warp)
    order[warp] = warp;
  while (failure_.empty()) {
    bool progressed = false;
    std::shuffle(order.begin(), order.end(), random_);
    for (unsigned warp : order) {
      // A warp runs until none of its lanes can: its lanes meet often.
      for (bool ran = true; ran && failure_.empty();) {
        ran = false;
        unsigned end = std::min<unsigned>(threads_.size(), warp * 32 + 32);
        for (unsigned lane = warp * 32; lane < end && failure_.empty(); ++lane)
          if (threads_[lane].state == ThreadState::ready) {
            resume(lane);
            ran = progressed = true;
          }
      }
      if (!failure_.empty())
        break;
    }
    if (!failure_.empty())
      break;
    releaseBarriers();
    auto isWaiting = [](const SimThread &thread) {
      return thread.state == ThreadState::atBarrier || thread.state == ThreadState::atWarp;
    };
    bool anyReady = llvm::any_of(
        threads_, [](const SimThread &thread) { return thread.state == ThreadState::ready; });
    auto stuck = llvm::find_if(threads_, isWaiting);
    if (anyReady)
      continue;
    if (stuck == threads_.end())
      break;
    if (!progressed) {
      current_ = stuck - threads_.begin();
      failure_ = launch_.kernel + ": not all threads reach the " +
                 (stuck->state == ThreadState::atBarrier ? "barrier" : "warp-wide operation") +
                 " at " + place(stuck->site);
    }
  }
  // Unwinds the threads that did not return.
  for (unsigned thread = 0; thread < threads_.size(); ++thread) {
    current_ = thread;
    threads_[thread].fiber = context::fiber();
  }
  running = outer;
  if (failure_.empty())
    return llvm::Error::success();
  return makeError("{0}", failure_);
}

void BlockRun::syncThreads(int barrier, int count, CallSite site) {
  SimThread &thread = current();
  thread.state = ThreadState::atBarrier;
  thread.barrier = barrier;
  thread.barrierCount = count;
  thread.site = site;
  suspend();
}

const char *BlockRun::gather(const void *own, unsigned bytes, CallSite site) {
  unsigned self = current_;
  SimWarp &warp = warps_[self / 32];
  char *slots = warp.slots[warp.turn];
  if (bytes > 0)
    std::memcpy(slots + self % 32 * kSlotBytes, own, bytes);
  unsigned first = self / 32 * 32;
  unsigned lanes = std::min<unsigned>(32, threads_.size() - first);
  if (++warp.arrived < lanes) {
    threads_[self].state = ThreadState::atWarp;
    threads_[self].site = site;
    suspend();
    return slots;
  }
  warp.arrived = 0;
  warp.turn ^= 1;
  for (unsigned lane = first; lane < first + lanes; ++lane)
    threads_[lane].state = ThreadState::ready;
  return slots;
}

void BlockRun::check(const void *address, uint64_t bytes, MemoryAccess access, uint64_t alignment,
                     CallSite site) {
  const auto *start = static_cast<const std::byte *>(address);
  const char *verb = access == MemoryAccess::write ? "writes" : "reads";
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    fail(site, llvm::formatv("{0} {1} bytes that are not aligned to {2}", verb, bytes, alignment));
  SimAllocation *allocation = nullptr;
  const SimRange *range = nullptr;
  if (start >= shared_.data() && start + bytes <= shared_.data() + shared_.size()) {
    allocation = &shared_;
  } else {
    for (const SimRange &candidate : launch_.ranges)
      if (start >= candidate.start && start + bytes <= candidate.start + candidate.bytes) {
        range = &candidate;
        allocation = candidate.allocation;
        // A buffer may be bound twice; the binding that allows more counts.
        if (candidate.isWritten)
          break;
      }
  }
  if (!allocation)
    fail(site,
         llvm::formatv("{0} {1} bytes outside of its buffers and shared memory", verb, bytes));
  uint64_t offset = start - allocation->data();
  if (access == MemoryAccess::write) {
    if (range && !range->isWritten)
      fail(site, llvm::formatv("writes the buffer {0}, which it only reads", range->name));
    allocation->markWritten(offset, bytes, true);
    return;
  }
  if (access == MemoryAccess::readOnce && range && range->isWritten)
    fail(site, llvm::formatv("reads {0} past the caches, but writes it too", range->name));
  if (allocation->firstUnwritten(offset, bytes))
    fail(site, llvm::formatv("reads bytes of {0} that nothing has written",
                             range ? range->name : "shared memory"));
}

// The oldest groups arrive, as late as the rules allow.
void BlockRun::finishCopies(int pending) {
  SimThread &thread = current();
  while (thread.groups.size() > size_t(pending)) {
    for (const PendingCopy &copy : thread.groups.front()) {
      if (copy.valid) {
        check(copy.global, 16, MemoryAccess::read, 16, copy.site);
        check(copy.shared, 16, MemoryAccess::write, 16, copy.site);
        std::memcpy(copy.shared, copy.global, 16);
      } else {
        check(copy.shared, 16, MemoryAccess::write, 16, copy.site);
        std::memset(copy.shared, 0, 16);
      }
    }
    thread.groups.pop_front();
  }
}

const SimulatedMachine kMachine = {
    [] { return int(running->threadIndex()); },
    [](int axis) { return int(running->block(axis)); },
    [] { return int(running->launch().grid[0]); },
    [] { return running->sharedMemory(); },
    [](int barrier, int count, CallSite site) { running->syncThreads(barrier, count, site); },
    [](const void *own, unsigned bytes, CallSite site) {
      return running->gather(own, bytes, site);
    },
    [](const void *address, unsigned long bytes, MemoryAccess access, unsigned long alignment,
       CallSite site) { running->check(address, bytes, access, alignment, site); },
    [](void *shared, const void *global, bool valid, CallSite site) {
      running->current().open.push_back({shared, global, valid, site});
    },
    [] {
      SimThread &thread = running->current();
      thread.groups.push_back(std::exchange(thread.open, {}));
    },
    [](int pending) { running->finishCopies(pending); },
};

} // namespace

const SimulatedMachine &simulatedMachine() {
  return kMachine;
}

// The blocks of the grid that run, in a random order.
static std::vector<std::array<int64_t, 3>> chooseBlocks(const SimLaunch &launch,
                                                        std::mt19937_64 &random) {
  std::vector<std::array<int64_t, 3>> blocks;
  for (int64_t z = 0; z < launch.grid[2]; ++z)
    for (int64_t y = 0; y < launch.grid[1]; ++y)
      for (int64_t x = 0; x < launch.grid[0]; ++x)
        blocks.push_back({x, y, z});
  if (launch.mostBlocks > 0 && blocks.size() > launch.mostBlocks) {
    // Edges are where sizes that do not divide show.
    if (blocks.size() > 2)
      std::swap(blocks[1], blocks.back());
    std::shuffle(blocks.begin() + std::min<size_t>(2, blocks.size()), blocks.end(), random);
    blocks.resize(launch.mostBlocks);
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  return blocks;
}

llvm::Error simulate(const SimLaunch &launch, std::mt19937_64 &random) {
  StackPool stacks(kStackBytes);
  for (const std::array<int64_t, 3> &block : chooseBlocks(launch, random))
    if (llvm::Error error = BlockRun(launch, block, random, stacks).run())
      return error;
  return llvm::Error::success();
}

} // namespace warploom
