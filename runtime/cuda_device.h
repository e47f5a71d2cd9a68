// The GPU behind a given driver table.
#pragma once

#include "runtime/device.h"
#include "runtime/driver.h"

namespace warploom {

// As openCudaDevice(), with the functions of `driver`.
llvm::Expected<std::unique_ptr<Device>> makeCudaDevice(const CudaDriver &driver, unsigned ordinal);

} // namespace warploom
