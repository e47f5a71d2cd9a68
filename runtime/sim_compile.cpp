#include "runtime/sim_compile.h"

#include "ir/program/error.h"
#include "ir/program/output_file.h"
#include "kernels/embedded.h"
#include "runtime/sim_block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/xxhash.h"

#include <dlfcn.h>

#include <mutex>

namespace warploom {
namespace {

constexpr llvm::StringLiteral kFlags[] = {"-std=c++20", "-O1", "-fPIC",
                                          "-shared",    "-w",  "-DWARPLOOM_SIMULATOR"};

using Kernels = llvm::ArrayRef<const Kernel *>;

std::string hostSource(Kernels kernels) {
  std::string source;
  llvm::StringSet<> seen; // a kernel's name stands for its text
  for (const Kernel *kernel : kernels)
    if (seen.insert(kernel->symbol()).second)
      source += llvm::formatv(R"(#line 1 "{0}.cu"
{1}
extern "C" void warploomInvoke_{0}(void **parameters) {{ warploom::invoke({0}, parameters); }
)",
                              kernel->symbol(), kernel->source);
  return source + R"(
extern "C" void warploomBind(const warploom::SimulatedMachine *machine) {
  warploom::machine = machine;
}
)";
}

std::string hashOf(llvm::StringRef source, llvm::StringRef compiler) {
  llvm::BLAKE3 hasher;
  hasher.update(source);
  hasher.update(compiler);
  for (llvm::StringRef flag : kFlags)
    hasher.update(flag);
  for (const EmbeddedHeader &header : embeddedHeaders())
    hasher.update(header.text);
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text) {
  return writeWhole(path, [&](llvm::raw_ostream &stream) { stream << text; });
}

// A private folder with the headers, removed at the end.
class Workspace {
public:
  llvm::Error create() {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("warploom", path_))
      return makeError("cannot create a temporary folder: {0}", error.message());
    for (const EmbeddedHeader &header : embeddedHeaders()) {
      llvm::SmallString<128> file = path_;
      llvm::sys::path::append(file, header.name);
      llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file));
      if (llvm::Error error = writeFile(file, header.text))
        return error;
    }
    return llvm::Error::success();
  }
  ~Workspace() {
    if (!path_.empty())
      llvm::sys::fs::remove_directories(path_);
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> file = path_;
    llvm::sys::path::append(file, name);
    return file.str().str();
  }
  llvm::StringRef path() const { return path_; }

private:
  llvm::SmallString<128> path_;
};

std::string opsOf(Kernels kernels) {
  return llvm::join(llvm::map_range(kernels,
                                    [](const Kernel *kernel) {
                                      return kernel->name + " (" + llvm::join(kernel->ops, "; ") +
                                             ")";
                                    }),
                    ", ");
}

llvm::Error compileLibrary(llvm::StringRef compiler, const Workspace &workspace, Kernels kernels,
                           const std::string &source, llvm::StringRef library) {
  std::string input = (library + ".cpp").str(), log = (library + ".log").str();
  if (llvm::Error error = writeFile(input, source))
    return error;
  llvm::SmallVector<llvm::StringRef, 16> command = {compiler};
  command.append(std::begin(kFlags), std::end(kFlags));
  command.append({"-I", workspace.path(), input, "-o", library});
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(log),
                                                llvm::StringRef(log)};
  std::string failure;
  int status =
      llvm::sys::ExecuteAndWait(compiler, command, std::nullopt, redirects, 0, 0, &failure);
  if (status != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    return makeError("the host compiler {0} rejects {1}: {2}{3}", compiler, opsOf(kernels), failure,
                     text ? (*text)->getBuffer().take_front(4000) : "");
  }
  return llvm::Error::success();
}

// A library in the cache ends with the checksum of what stands before it; a loader does not mind.
bool isWhole(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file || (*file)->getBufferSize() < sizeof(uint64_t))
    return false;
  llvm::StringRef body = (*file)->getBuffer().drop_back(sizeof(uint64_t));
  return llvm::support::endian::read64le(body.end()) == llvm::xxh3_64bits(body);
}

// A cache that cannot be written to is no reason to stop: the library is there.
void keep(llvm::StringRef library, llvm::StringRef cached) {
  auto file = llvm::MemoryBuffer::getFile(library, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return;
  llvm::consumeError(writeWhole(cached, [&](llvm::raw_ostream &stream) {
    char checksum[sizeof(uint64_t)];
    llvm::support::endian::write64le(checksum, llvm::xxh3_64bits((*file)->getBuffer()));
    stream << (*file)->getBuffer();
    stream.write(checksum, sizeof(checksum));
  }));
}

llvm::Error loadLibrary(const std::string &library, Kernels kernels,
                        llvm::MutableArrayRef<HostKernel> loaded) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError("cannot load {0}: {1}", library, dlerror());
  auto *bind = reinterpret_cast<void (*)(const SimulatedMachine *)>(dlsym(handle, "warploomBind"));
  if (!bind)
    return makeError("{0} holds no kernels compiled for the simulator", library);
  bind(&simulatedMachine());
  for (const auto &[kernel, host] : llvm::zip(kernels, loaded)) {
    std::string symbol = "warploomInvoke_" + kernel->symbol();
    host.invoke = reinterpret_cast<void (*)(void **)>(dlsym(handle, symbol.c_str()));
    if (!host.invoke)
      return makeError("{0} does not hold the kernel {1}", library, kernel->name);
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::string> findHostCompiler() {
  if (std::optional<std::string> named = llvm::sys::Process::GetEnv("WARPLOOM_HOST_CXX")) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(*named);
    if (found && llvm::sys::fs::can_execute(*found))
      return *found;
    return makeError("the simulator needs a C++ compiler: WARPLOOM_HOST_CXX names '{0}', which is "
                     "not there",
                     *named);
  }
  for (llvm::StringRef name : {"c++", "g++", "clang++"})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
      return *found;
  return makeError("the simulator needs a C++ compiler: looked on the path for c++, g++ and "
                   "clang++; WARPLOOM_HOST_CXX may name one");
}

llvm::Expected<std::vector<HostKernel>> compileForHost(Kernels kernels, llvm::StringRef compiler,
                                                       llvm::StringRef cacheDirectory,
                                                       unsigned kernelsPerLibrary) {
  Workspace workspace;
  if (llvm::Error error = workspace.create())
    return error;
  std::vector<HostKernel> compiled(kernels.size());
  std::mutex mutex;
  std::string failure;
  auto compileSome = [&](size_t first) -> llvm::Error {
    size_t count = std::min<size_t>(kernelsPerLibrary, kernels.size() - first);
    Kernels some = kernels.slice(first, count);
    std::string source = hostSource(some);
    std::string name = "host-" + hashOf(source, compiler) + ".so";
    llvm::SmallString<128> cached(cacheDirectory);
    llvm::sys::path::append(cached, name);
    std::string library = cached.str().str();
    if (cacheDirectory.empty() || !isWhole(library)) {
      library = workspace.file(std::to_string(first) + "-" + name);
      if (llvm::Error error = compileLibrary(compiler, workspace, some, source, library))
        return error;
      if (!cacheDirectory.empty())
        keep(library, cached);
    }
    return loadLibrary(library, some, llvm::MutableArrayRef(compiled).slice(first, count));
  };
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (size_t first = 0; first < kernels.size(); first += kernelsPerLibrary)
    pool.async([&, first] {
      if (llvm::Error error = compileSome(first)) {
        std::string message = llvm::toString(std::move(error));
        std::lock_guard lock(mutex);
        failure = failure.empty() ? message : failure;
      }
    });
  pool.wait();
  if (!failure.empty())
    return makeError("{0}", failure);
  return compiled;
}

} // namespace warploom
