#include "codegen/launch_graph.h"

#include "llvm/ADT/STLExtras.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <boost/graph/transitive_reduction.hpp>

namespace warploom {
namespace {

using DirectedGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

bool share(llvm::ArrayRef<unsigned> a, llvm::ArrayRef<unsigned> b) {
  return llvm::any_of(a, [&](unsigned buffer) { return llvm::is_contained(b, buffer); });
}

// Read after write, write after read, or write after write.
bool conflict(const Kernel &earlier, const Kernel &later) {
  return share(earlier.writes, later.reads) || share(earlier.reads, later.writes) ||
         share(earlier.writes, later.writes);
}

} // namespace

std::vector<Edge> launchEdges(llvm::ArrayRef<Kernel> kernels) {
  DirectedGraph all(kernels.size());
  for (unsigned later = 0; later < kernels.size(); ++later)
    for (unsigned earlier = 0; earlier < later; ++earlier)
      if (conflict(kernels[earlier], kernels[later]))
        boost::add_edge(earlier, later, all);
  DirectedGraph reduced;
  std::vector<DirectedGraph::vertex_descriptor> copies(kernels.size());
  std::vector<size_t> ids(kernels.size());
  for (size_t index = 0; index < ids.size(); ++index)
    ids[index] = index;
  boost::transitive_reduction(all, reduced, copies.data(), ids.data());
  std::vector<Edge> edges;
  for (auto [edge, end] = boost::edges(reduced); edge != end; ++edge) {
    auto original = [&](DirectedGraph::vertex_descriptor vertex) {
      return static_cast<unsigned>(llvm::find(copies, vertex) - copies.begin());
    };
    edges.push_back(
        {original(boost::source(*edge, reduced)), original(boost::target(*edge, reduced))});
  }
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  return edges;
}

std::vector<std::vector<bool>> reachability(unsigned kernels, llvm::ArrayRef<Edge> edges) {
  // Edges go from lower to higher numbers, so one sweep from the end closes all paths.
  std::vector<std::vector<bool>> reaches(kernels, std::vector<bool>(kernels, false));
  std::vector<std::vector<unsigned>> next(kernels);
  for (const Edge &edge : edges)
    next[edge.from].push_back(edge.to);
  for (unsigned kernel = kernels; kernel-- > 0;)
    for (unsigned to : next[kernel]) {
      reaches[kernel][to] = true;
      for (unsigned further = to; further < kernels; ++further)
        if (reaches[to][further])
          reaches[kernel][further] = true;
    }
  return reaches;
}

} // namespace warploom
