#include "runtime/sim_memory.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace warploom {

namespace {
constexpr uint64_t kAlignment = 256; // bytes, as cuMemAlloc's
}

SimAllocation::SimAllocation(uint64_t bytes) : written_(bytes, 0) {
  uint64_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  data_.reset(static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded)));
  if (!data_)
    throw std::bad_alloc();
  // What nobody has written reads as NaN in every floating type.
  std::memset(data_.get(), 0xff, rounded);
}

void SimAllocation::Free::operator()(std::byte *data) const {
  std::free(data);
}

void SimAllocation::markWritten(uint64_t offset, uint64_t bytes, bool written) {
  std::memset(written_.data() + offset, written, bytes);
}

std::optional<uint64_t> SimAllocation::firstUnwritten(uint64_t offset, uint64_t bytes) const {
  const void *place = std::memchr(written_.data() + offset, 0, bytes);
  if (!place)
    return std::nullopt;
  return static_cast<const uint8_t *>(place) - written_.data();
}

std::byte *SimMemory::allocate(uint64_t bytes) {
  SimAllocation allocation(bytes);
  std::byte *data = allocation.data();
  allocations_.emplace(data, std::move(allocation));
  return data;
}

void SimMemory::release(const void *address) {
  allocations_.erase(static_cast<const std::byte *>(address));
}

SimAllocation *SimMemory::find(const void *address, uint64_t bytes) {
  const auto *start = static_cast<const std::byte *>(address);
  auto entry = allocations_.upper_bound(start);
  if (entry == allocations_.begin())
    return nullptr;
  SimAllocation &allocation = (--entry)->second;
  bool inside = start + bytes <= allocation.data() + allocation.size();
  return inside ? &allocation : nullptr;
}

} // namespace warploom
