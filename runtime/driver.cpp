#include "runtime/driver.h"

#include "ir/program/error.h"

#include <dlfcn.h>

namespace warploom {

llvm::Expected<CudaDriver> CudaDriver::load(llvm::StringRef library) {
  void *handle = dlopen(library.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError("no CUDA driver: looked for {0} on the loader's path: {1}", library,
                     dlerror());
  // Plain names are the oldest ABI of a function; asked for by version, the driver gives the one
  // that the declarations follow.
  constexpr int kAbiVersion = 12000;
  using GetAddress = int (*)(const char *, void **, int, uint64_t, int *);
  auto getAddress = reinterpret_cast<GetAddress>(dlsym(handle, "cuGetProcAddress_v2"));
  if (!getAddress)
    return makeError("the CUDA driver {0} is older than CUDA 12.0: it has no cuGetProcAddress_v2",
                     library);
  CudaDriver driver;
  const char *missing = nullptr;
  int failure = cuda::kSuccess;
  auto resolve = [&](auto &function, const char *name) {
    void *address = nullptr;
    int result = getAddress(name, &address, kAbiVersion, 0, nullptr);
    if ((result != cuda::kSuccess || !address) && !missing) {
      missing = name;
      failure = result;
    }
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
  };
#define WARPLOOM_DRIVER_RESOLVE(name, parameters) resolve(driver.name, #name);
  WARPLOOM_DRIVER_FUNCTIONS(WARPLOOM_DRIVER_RESOLVE)
#undef WARPLOOM_DRIVER_RESOLVE
  if (missing)
    return makeError("the CUDA driver {0} does not give {1}: result {2}", library, missing,
                     failure);
  return driver;
}

llvm::Error CudaDriver::check(int result, const llvm::Twine &attempt) const {
  if (result == cuda::kSuccess)
    return llvm::Error::success();
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != cuda::kSuccess || !name)
    name = "unknown error";
  if (cuGetErrorString(result, &text) != cuda::kSuccess || !text)
    text = "no description";
  return makeError("{0}: {1} {2} ({3})", attempt.str(), name, result, text);
}

} // namespace warploom
