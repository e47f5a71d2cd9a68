// The order of a program's kernels as Boost.Graph sees it: edges from what kernels read and write,
// and paths between them.
#pragma once

#include "ir/program/program.h"

namespace warploom {

// One edge for each pair of kernels that touch a buffer, at least one of them writing, and that no
// path through others orders: the transitive reduction of all such pairs.
std::vector<Edge> launchEdges(llvm::ArrayRef<Kernel> kernels);

// reaches[a][b]: a path of edges leads from kernel a to kernel b.
std::vector<std::vector<bool>> reachability(unsigned kernels, llvm::ArrayRef<Edge> edges);

} // namespace warploom
