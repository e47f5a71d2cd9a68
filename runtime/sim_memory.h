// The memory that simulated kernels see: allocations of a device with, for every byte, whether it
// has been written.
#pragma once

#include "kernels/simulated_machine.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace warploom {

// Bytes and their shadow.
class SimAllocation {
public:
  explicit SimAllocation(uint64_t bytes);
  std::byte *data() const { return data_.get(); }
  uint64_t size() const { return written_.size(); }
  void markWritten(uint64_t offset, uint64_t bytes, bool written);
  // The first byte of a range that was not written, if there is one.
  std::optional<uint64_t> firstUnwritten(uint64_t offset, uint64_t bytes) const;

private:
  struct Free {
    void operator()(std::byte *data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::vector<uint8_t> written_;
};

// The allocations of one device, by address.
class SimMemory {
public:
  std::byte *allocate(uint64_t bytes);
  void release(const void *address);
  // The allocation that holds [address, address + bytes), or null.
  SimAllocation *find(const void *address, uint64_t bytes);

private:
  std::map<const std::byte *, SimAllocation> allocations_;
};

} // namespace warploom
