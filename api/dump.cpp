#include "api/dump.h"

#include "ir/print.h"
#include "ir/program/output_file.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace warploom {
namespace {

void write(Compilation &compilation, llvm::StringRef directory, llvm::StringRef name,
           llvm::StringRef text) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  if (llvm::Error error = writeWhole(path, [&](llvm::raw_ostream &stream) { stream << text; }))
    compilation.warnings.push_back("WARPLOOM_DUMP: " + llvm::toString(std::move(error)));
}

} // namespace

std::string fileName(llvm::StringRef text) {
  std::string name;
  for (char c : text.take_front(64))
    name += llvm::isAlnum(c) || c == '-' || c == '_' ? c : '_';
  return name.empty() ? "unnamed" : name;
}

void dumpFromEnvironment(Compilation &compilation) {
  std::optional<std::string> wish = llvm::sys::Process::GetEnv("WARPLOOM_DUMP");
  if (!wish)
    return;
  auto [kinds, directory] = llvm::StringRef(*wish).split(':');
  if (directory.empty()) {
    compilation.warnings.push_back("WARPLOOM_DUMP is '" + *wish +
                                   "'; write KIND[,KIND...]:DIR with groups, cuda, program");
    return;
  }
  llvm::sys::fs::create_directories(directory);
  std::string base = fileName(compilation.program.name);
  llvm::SmallVector<llvm::StringRef, 3> list;
  kinds.split(list, ',');
  for (llvm::StringRef kind : list) {
    if (kind == "groups") {
      write(compilation, directory, base + ".groups.loom", print(compilation.fused));
    } else if (kind == "program") {
      write(compilation, directory, base + ".program.txt", print(compilation.program));
    } else if (kind == "cuda") {
      for (const Kernel &kernel : compilation.program.kernels)
        if (kernel.function.empty())
          write(compilation, directory, base + "." + fileName(kernel.name) + ".cu", kernel.source);
    } else {
      compilation.warnings.push_back(
          ("WARPLOOM_DUMP: '" + kind + "' is no kind; the kinds are groups, cuda, program").str());
    }
  }
}

} // namespace warploom
