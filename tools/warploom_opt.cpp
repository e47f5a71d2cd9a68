// warploom-opt: runs passes by name and prints the graph, for FileCheck tests.
#include "ir/parse.h"
#include "ir/print.h"
#include "passes/passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace warploom;

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> file(llvm::cl::Positional, llvm::cl::Required,
                                  llvm::cl::desc("<F.loom or ->"));
  llvm::cl::list<std::string> names("passes", llvm::cl::CommaSeparated,
                                    llvm::cl::desc("passes to run, in this order, or 'all'"));
  llvm::cl::opt<std::string> arch("arch", llvm::cl::init("sm_90a"),
                                  llvm::cl::desc("the target's arch"));
  llvm::cl::opt<bool> remarks("remarks", llvm::cl::desc("print what passes did and refused"));
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs Warploom's passes on a graph.\n");

  llvm::SmallVector<const Pass *, 8> passes;
  for (const std::string &name : names) {
    if (name == "all") {
      for (const Pass &pass : pipeline())
        passes.push_back(&pass);
      continue;
    }
    const Pass *pass = findPass(name);
    if (!pass) {
      auto known = llvm::map_range(pipeline(), [](const Pass &pass) { return pass.name; });
      llvm::errs() << "error: there is no pass '" << name << "'; the passes are "
                   << llvm::join(known, ", ") << "\n";
      return 2;
    }
    passes.push_back(pass);
  }

  llvm::Expected<Target> target = Target::fromArch(arch);
  if (!target) {
    llvm::errs() << "error: " << llvm::toString(target.takeError()) << "\n";
    return 2;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text =
      llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!text) {
    llvm::errs() << "error: cannot read '" << file << "': " << text.getError().message() << "\n";
    return 1;
  }
  llvm::Expected<Module> module = parseModule((*text)->getBuffer(), file);
  if (!module) {
    llvm::errs() << llvm::toString(module.takeError()) << "\n";
    return 1;
  }
  FusionPolicy policy;
  std::vector<Remark> said;
  for (Graph &graph : module->graphs)
    runPasses(graph, passes, {*target, policy, said}, [](const PassReport &, const Graph &) {});
  llvm::outs() << print(*module);
  if (remarks)
    for (const Remark &remark : said)
      llvm::outs() << "// " << remark.pass << ": " << remark.text << "\n";
  return 0;
}
