#include "runtime/compiler.h"

#include "ir/program/error.h"
#include "kernels/embedded.h"
#include "runtime/compile_cache.h"
#include "runtime/nvrtc.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>
#include <mutex>

namespace warploom {
namespace {

constexpr uint64_t kCacheBytes = uint64_t(1) << 30;

// --minimal leaves out what the headers do not use, which saves a fifth of the time; the stack
// limit of the process is left alone, since other threads run.
std::vector<std::string> compileOptions(llvm::StringRef arch) {
  return {
      "--gpu-architecture=" + arch.str(), "-std=c++17",         "--minimal",         "--no-cache",
      "--modify-stack-limit=false",       "--ptxas-options=-v", "-diag-suppress=177"};
}

unsigned number(llvm::StringRef log, llvm::StringRef pattern) {
  llvm::SmallVector<llvm::StringRef, 2> match;
  unsigned value = 0;
  if (llvm::Regex(pattern).match(log, &match))
    match[1].getAsInteger(10, value);
  return value;
}

// From ptxas's words: "N bytes stack frame, N bytes spill stores, N bytes spill loads" and
// "Used N registers, ... N bytes smem".
KernelResources parseResources(llvm::StringRef log) {
  KernelResources resources;
  resources.registers = number(log, "Used ([0-9]+) registers");
  resources.stackBytes = number(log, "([0-9]+) bytes stack frame");
  resources.spillBytes =
      number(log, "([0-9]+) bytes spill stores") + number(log, "([0-9]+) bytes spill loads");
  resources.staticSharedBytes = number(log, "([0-9]+) bytes smem");
  return resources;
}

std::string keyOf(const Nvrtc &nvrtc, const Kernel &kernel, llvm::ArrayRef<std::string> options) {
  llvm::BLAKE3 hasher;
  auto add = [&](llvm::StringRef text) {
    // Lengths keep the parts apart.
    hasher.update(std::to_string(text.size()) + ":");
    hasher.update(text);
  };
  add(nvrtc.version());
  for (const std::string &option : options)
    add(option);
  for (const EmbeddedHeader &header : embeddedHeaders()) {
    add(header.name);
    add(header.text);
  }
  add(kernel.source);
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

llvm::Error checkArch(const Nvrtc &nvrtc, llvm::StringRef arch) {
  // The letter behind the number names features, not another architecture.
  llvm::StringRef plain = arch.rtrim("af");
  std::vector<std::string> known = nvrtc.architectures();
  if (llvm::is_contained(known, plain))
    return llvm::Error::success();
  return makeError("NVRTC {0} at {1} does not know the arch '{2}'; it knows {3}", nvrtc.version(),
                   nvrtc.path(), arch, llvm::join(known, ", "));
}

class Compilation {
public:
  Compilation(const Nvrtc &nvrtc, const Program &program, const CompileSettings &settings,
              std::vector<std::string> &warnings)
      : nvrtc_(nvrtc), program_(program), settings_(settings), warnings_(warnings),
        cache_(settings.useCache ? usableCacheDirectory(settings.cacheDirectory, warnings) : ""),
        options_(compileOptions(program.arch)) {}

  llvm::Expected<std::vector<CompiledKernel>> run() {
    std::vector<CompiledKernel> kernels(program_.kernels.size());
    std::vector<unsigned> missing;
    llvm::StringMap<unsigned> firstOfKey;
    for (const auto &[index, kernel] : llvm::enumerate(program_.kernels)) {
      keys_.push_back(keyOf(nvrtc_, kernel, options_));
      if (std::optional<CompiledKernel> found = cache_.find(keys_[index]))
        kernels[index] = std::move(*found);
      else if (firstOfKey.try_emplace(keys_[index], index).second)
        missing.push_back(index);
    }
    if (missing.empty())
      return kernels;
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(settings_.threads));
    for (unsigned index : missing)
      pool.async([&, index] { compileOne(index, kernels[index]); });
    pool.wait();
    if (!failure_.empty())
      return makeError("{0}", failure_);
    for (unsigned index : missing)
      cache_.insert(keys_[index], kernels[index], warnings_);
    cache_.trim(kCacheBytes);
    for (unsigned index = 0; index < kernels.size(); ++index)
      if (auto first = firstOfKey.find(keys_[index]); first != firstOfKey.end())
        kernels[index] = kernels[first->second];
    return kernels;
  }

private:
  void compileOne(unsigned index, CompiledKernel &compiled) {
    const Kernel &kernel = program_.kernels[index];
    auto start = std::chrono::steady_clock::now();
    llvm::Expected<NvrtcResult> result =
        nvrtc_.compile(kernel.source, kernel.name + ".cu", options_);
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    if (!result)
      return fail(llvm::toString(result.takeError()));
    if (result->cubin.empty())
      return fail(llvm::formatv("NVRTC rejects the kernel {0} ({1}):\n{2}", kernel.name,
                                llvm::join(kernel.ops, "; "), result->log));
    compiled.cubin = std::move(result->cubin);
    compiled.ptx = std::move(result->ptx);
    compiled.resources = parseResources(result->log);
    compiled.log = std::move(result->log);
    compiled.milliseconds = elapsed.count();
  }

  void fail(const std::string &message) {
    std::lock_guard lock(mutex_);
    if (failure_.empty())
      failure_ = message;
  }

  const Nvrtc &nvrtc_;
  const Program &program_;
  const CompileSettings &settings_;
  std::vector<std::string> &warnings_;
  CompileCache cache_;
  std::vector<std::string> options_, keys_;
  std::mutex mutex_;
  std::string failure_;
};

} // namespace

llvm::Expected<std::vector<CompiledKernel>> compileKernels(const Program &program,
                                                           const CompileSettings &settings,
                                                           std::vector<std::string> &warnings) {
  llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load();
  if (!nvrtc)
    return nvrtc.takeError();
  if (llvm::Error error = checkArch(**nvrtc, program.arch))
    return error;
  return Compilation(**nvrtc, program, settings, warnings).run();
}

} // namespace warploom
