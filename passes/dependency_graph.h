// Boost.Graph behind the one question that fusion asks of it.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include <algorithm>
#include <vector>

namespace warploom {

class DependencyGraph {
public:
  explicit DependencyGraph(unsigned vertices) : graph_(vertices) {}

  // `to` stands behind `from`.
  void addEdge(unsigned from, unsigned to) { boost::add_edge(from, to, graph_); }

  // All vertices, each behind those it depends on. The graph has no cycle.
  std::vector<unsigned> topologicalOrder() const {
    std::vector<unsigned> order;
    boost::topological_sort(graph_, std::back_inserter(order));
    std::reverse(order.begin(), order.end());
    return order;
  }

private:
  boost::adjacency_list<boost::setS, boost::vecS, boost::directedS> graph_;
};

} // namespace warploom
