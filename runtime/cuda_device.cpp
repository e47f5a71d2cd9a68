#include "runtime/cuda_device.h"

#include "ir/program/error.h"
#include "runtime/cuda_executable.h"

#include "llvm/ADT/DenseSet.h"

namespace warploom {
namespace {

class CudaDevice : public Device {
public:
  explicit CudaDevice(const CudaDriver &driver) : driver_(driver) {}
  ~CudaDevice() override {
    if (!target_.context)
      return;
    driver_.cuCtxSetCurrent(target_.context);
    for (void *address : allocations_)
      driver_.cuMemFree(reinterpret_cast<cuda::Address>(address));
    if (target_.stream)
      driver_.cuStreamDestroy(target_.stream);
    driver_.cuDevicePrimaryCtxRelease(device_);
  }

  llvm::Error open(unsigned ordinal);

  std::string description() const override {
    return llvm::formatv("{0}, sm_{1}, driver {2}.{3}", name_, target_.capability, version_ / 1000,
                         version_ % 1000 / 10);
  }

  llvm::Expected<void *> allocate(uint64_t bytes) override {
    if (llvm::Error error = makeCurrent())
      return error;
    cuda::Address address = 0;
    // The driver allocates no empty memory, but an address is asked for.
    int result = driver_.cuMemAlloc(&address, std::max<uint64_t>(bytes, 1));
    if (llvm::Error error = driver_.check(result, "cannot allocate " + llvm::Twine(bytes) +
                                                      " bytes of device memory"))
      return error;
    allocations_.insert(reinterpret_cast<void *>(address));
    return reinterpret_cast<void *>(address);
  }
  void release(void *address) override {
    if (!allocations_.erase(address))
      return;
    driver_.cuCtxSetCurrent(target_.context);
    driver_.cuMemFree(reinterpret_cast<cuda::Address>(address));
  }

  llvm::Error write(void *address, llvm::ArrayRef<std::byte> bytes) override {
    if (llvm::Error error = makeCurrent())
      return error;
    return driver_.check(
        driver_.cuMemcpyHtoD(reinterpret_cast<cuda::Address>(address), bytes.data(), bytes.size()),
        "cannot write " + llvm::Twine(bytes.size()) + " bytes to the device");
  }
  llvm::Error read(llvm::MutableArrayRef<std::byte> bytes, const void *address) override {
    if (llvm::Error error = makeCurrent())
      return error;
    return driver_.check(
        driver_.cuMemcpyDtoH(bytes.data(), reinterpret_cast<cuda::Address>(address), bytes.size()),
        "cannot read " + llvm::Twine(bytes.size()) + " bytes from the device");
  }

  llvm::Expected<std::unique_ptr<Executable>>
  load(const Program &program, const llvm::StringMap<int64_t> &symbols,
       llvm::ArrayRef<CompiledKernel> kernels) override {
    if (llvm::Error error = makeCurrent())
      return error;
    return makeCudaExecutable(target_, program, symbols, kernels);
  }

private:
  llvm::Error makeCurrent() {
    return driver_.check(driver_.cuCtxSetCurrent(target_.context), "cannot use the GPU's context");
  }

  CudaDriver driver_;
  cuda::Device device_ = 0;
  CudaTarget target_;
  std::string name_;
  int version_ = 0;
  llvm::DenseSet<void *> allocations_;
};

llvm::Error CudaDevice::open(unsigned ordinal) {
  int count = 0;
  if (llvm::Error error = driver_.check(driver_.cuInit(0), "cannot start the CUDA driver"))
    return error;
  if (llvm::Error error = driver_.check(driver_.cuDeviceGetCount(&count), "cannot count the GPUs"))
    return error;
  if (ordinal >= unsigned(count))
    return makeError("no GPU {0}: the driver has {1}", ordinal, count);
  int major = 0, minor = 0;
  char name[256] = "";
  // The first failure; the calls after it are not made.
  int result = driver_.cuDeviceGet(&device_, ordinal);
  auto then = [&](auto function, auto... arguments) {
    if (result == cuda::kSuccess)
      result = function(arguments...);
  };
  then(driver_.cuDriverGetVersion, &version_);
  then(driver_.cuDeviceGetName, name, int(sizeof(name)), device_);
  then(driver_.cuDeviceGetAttribute, &major, cuda::kComputeCapabilityMajor, device_);
  then(driver_.cuDeviceGetAttribute, &minor, cuda::kComputeCapabilityMinor, device_);
  then(driver_.cuDeviceGetAttribute, &target_.maxSharedBytes, cuda::kMaxSharedBytesPerBlock,
       device_);
  then(driver_.cuDevicePrimaryCtxRetain, &target_.context, device_);
  then(driver_.cuCtxSetCurrent, target_.context);
  // An ordinary stream keeps the order with the plain copies and fills.
  then(driver_.cuStreamCreate, &target_.stream, 0u);
  if (llvm::Error error = driver_.check(result, "cannot open GPU " + llvm::Twine(ordinal)))
    return error;
  name_ = name;
  target_.driver = &driver_;
  target_.capability = major * 10 + minor;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::unique_ptr<Device>> makeCudaDevice(const CudaDriver &driver, unsigned ordinal) {
  auto device = std::make_unique<CudaDevice>(driver);
  if (llvm::Error error = device->open(ordinal))
    return error;
  return device;
}

llvm::Expected<std::unique_ptr<Device>> openCudaDevice(unsigned ordinal) {
  llvm::Expected<CudaDriver> driver = CudaDriver::load();
  if (!driver)
    return driver.takeError();
  return makeCudaDevice(*driver, ordinal);
}

} // namespace warploom
