#include "runtime/nvrtc.h"

#include "ir/program/error.h"
#include "kernels/embedded.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <dlfcn.h>

#include <mutex>

namespace warploom {

// The few functions that are used, as nvrtc.h declares them; a program is an opaque pointer and 0
// is success.
struct Nvrtc::Functions {
  using Handle = void *;
  int (*version)(int *major, int *minor);
  const char *(*errorString)(int);
  int (*createProgram)(Handle *, const char *source, const char *name, int headers,
                       const char *const *texts, const char *const *names);
  int (*destroyProgram)(Handle *);
  int (*compileProgram)(Handle, int count, const char *const *options);
  int (*getLogSize)(Handle, size_t *);
  int (*getLog)(Handle, char *);
  int (*getCubinSize)(Handle, size_t *);
  int (*getCubin)(Handle, char *);
  int (*getPtxSize)(Handle, size_t *);
  int (*getPtx)(Handle, char *);
  int (*countArchs)(int *);
  int (*getArchs)(int *);

  bool resolve(void *library) {
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find(version, "nvrtcVersion") && find(errorString, "nvrtcGetErrorString") &&
           find(createProgram, "nvrtcCreateProgram") &&
           find(destroyProgram, "nvrtcDestroyProgram") &&
           find(compileProgram, "nvrtcCompileProgram") &&
           find(getLogSize, "nvrtcGetProgramLogSize") && find(getLog, "nvrtcGetProgramLog") &&
           find(getCubinSize, "nvrtcGetCUBINSize") && find(getCubin, "nvrtcGetCUBIN") &&
           find(getPtxSize, "nvrtcGetPTXSize") && find(getPtx, "nvrtcGetPTX") &&
           find(countArchs, "nvrtcGetNumSupportedArchs") &&
           find(getArchs, "nvrtcGetSupportedArchs");
  }
};

namespace {

constexpr llvm::StringLiteral kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// The folders in `parent` whose names start so, last name first.
std::vector<std::string> subfolders(const std::string &parent, llvm::StringRef prefix) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error))
    if (llvm::sys::path::filename(entry->path()).starts_with(prefix))
      paths.push_back(entry->path());
  llvm::sort(paths, std::greater<>());
  return paths;
}

std::vector<std::string> candidates() {
  std::vector<std::string> paths;
  if (std::optional<std::string> named = llvm::sys::Process::GetEnv("WARPLOOM_NVRTC"))
    return {*named};
  std::vector<std::string> folders;
  llvm::SmallString<128> beside(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&candidates))));
  llvm::sys::path::append(beside, "..", "lib");
  folders.push_back(beside.str().str());
  folders.push_back(""); // the loader's own path
  for (llvm::StringRef variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> home = llvm::sys::Process::GetEnv(variable))
      folders.push_back(*home + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  // Toolkits and wheels of several versions may lie side by side: the newest name comes first.
  for (const std::string &toolkit : subfolders("/usr/local", "cuda-"))
    folders.push_back(toolkit + "/lib64");
  if (std::optional<std::string> python = llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    for (const std::string &version : subfolders(*python + "/lib", "python"))
      for (const std::string &wheel : subfolders(version + "/site-packages/nvidia", "cu"))
        folders.push_back(wheel + "/lib");
  for (const std::string &folder : folders)
    for (llvm::StringRef name : kNames)
      paths.push_back(folder.empty() ? name.str() : folder + "/" + name.str());
  return paths;
}

} // namespace

llvm::Expected<const Nvrtc *> Nvrtc::load() {
  static std::mutex mutex;
  static Nvrtc loaded;
  static Functions functions;
  std::lock_guard lock(mutex);
  if (loaded.functions_)
    return &loaded;
  std::vector<std::string> tried = candidates();
  for (const std::string &path : tried) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library || !functions.resolve(library))
      continue;
    int major = 0, minor = 0;
    functions.version(&major, &minor);
    loaded.functions_ = &functions;
    loaded.version_ = llvm::formatv("{0}.{1}", major, minor).str();
    loaded.path_ = path;
    return &loaded;
  }
  return makeError("NVRTC was not found: looked for {0}; WARPLOOM_NVRTC may name the library",
                   llvm::join(tried, ", "));
}

std::vector<std::string> Nvrtc::architectures() const {
  int count = 0;
  functions_->countArchs(&count);
  std::vector<int> numbers(count);
  functions_->getArchs(numbers.data());
  std::vector<std::string> names;
  names.reserve(numbers.size());
  for (int number : numbers)
    names.push_back("sm_" + std::to_string(number));
  return names;
}

llvm::Expected<NvrtcResult> Nvrtc::compile(const std::string &source, const std::string &name,
                                           llvm::ArrayRef<std::string> options) const {
  std::vector<std::string> texts, names;
  for (const EmbeddedHeader &header : embeddedHeaders()) {
    texts.push_back(header.text.str());
    names.push_back(header.name.str());
  }
  auto pointers = [](llvm::ArrayRef<std::string> strings) {
    std::vector<const char *> result;
    for (const std::string &string : strings)
      result.push_back(string.c_str());
    return result;
  };
  Functions::Handle program = nullptr;
  int status = functions_->createProgram(&program, source.c_str(), name.c_str(), texts.size(),
                                         pointers(texts).data(), pointers(names).data());
  if (status != 0)
    return makeError("NVRTC cannot take the kernel {0}: {1}", name,
                     functions_->errorString(status));
  int compiled = functions_->compileProgram(program, options.size(), pointers(options).data());
  NvrtcResult result;
  auto fetch = [&](auto getSize, auto get, std::string &text) {
    size_t bytes = 0;
    if (getSize(program, &bytes) != 0 || bytes == 0)
      return;
    text.resize(bytes);
    get(program, text.data());
  };
  fetch(functions_->getLogSize, functions_->getLog, result.log);
  // NVRTC counts the closing zero of texts.
  auto trim = [](std::string &text) {
    while (!text.empty() && text.back() == '\0')
      text.pop_back();
  };
  trim(result.log);
  if (compiled == 0) {
    fetch(functions_->getCubinSize, functions_->getCubin, result.cubin);
    fetch(functions_->getPtxSize, functions_->getPtx, result.ptx);
    trim(result.ptx);
  } else if (result.log.empty()) {
    result.log = functions_->errorString(compiled);
  }
  functions_->destroyProgram(&program);
  return result;
}

} // namespace warploom
