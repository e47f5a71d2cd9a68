#include "ir/group.h"
#include "ir/parse.h"
#include "passes/passes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

std::vector<Graph> examples() {
  std::vector<Graph> graphs;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(WARPLOOM_SOURCE_DIR "/examples", error), end;
       file != end; file.increment(error)) {
    auto text = llvm::MemoryBuffer::getFile(file->path());
    for (Graph &graph : llvm::cantFail(parseModule((*text)->getBuffer(), file->path())).graphs)
      graphs.push_back(std::move(graph));
  }
  EXPECT_EQ(graphs.size(), 12u);
  return graphs;
}

TEST(Pipeline, ChangesNothingTheSecondTime) {
  Target target;
  FusionPolicy policy;
  std::vector<Remark> remarks;
  PassContext context{target, policy, remarks};
  for (Graph &graph : examples()) {
    for (const Pass &pass : pipeline()) {
      pass.run(graph, context);
      EXPECT_EQ(pass.run(graph, context), 0u) << graph.name() << ": " << pass.name.str();
    }
  }
}

TEST(Pipeline, PutsEveryNodeWithACostIntoAGroup) {
  Target target;
  FusionPolicy policy;
  std::vector<Remark> remarks;
  for (Graph &graph : examples()) {
    for (const Pass &pass : pipeline())
      pass.run(graph, {target, policy, remarks});
    for (const Node &node : graph.nodes()) {
      bool isFree = node.op == Op::argument || kind(node.op) == OpKind::source || isView(node.op);
      EXPECT_TRUE(isFree || node.group) << graph.name() << ": " << node.results[0].name;
    }
    for (const Group &group : groupsOf(graph))
      EXPECT_FALSE(group.outputs.empty()) << graph.name() << " group " << group.number;
  }
}

TEST(Pipeline, FindsPassesByName) {
  EXPECT_EQ(findPass("fuse")->run, fuse);
  EXPECT_EQ(findPass("nothing"), nullptr);
}

} // namespace
