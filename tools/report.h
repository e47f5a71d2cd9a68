// `--report`: what a compilation did, as text or JSON.
#pragma once

#include "api/compile.h"

namespace warploom {

// A line per pass, a line per kernel, the remarks, and the times.
std::string reportText(const Compilation &compilation);

// {"passes": [{"name", "rewrites", "nodes_before", "nodes_after", "ms"}], "remarks": [{"pass",
// "text"}], "kernels": as in Program's JSON, "times_ms": {"passes", "codegen", "kernels", "total"},
// "from_cache"}.
llvm::json::Value reportJson(const Compilation &compilation);

} // namespace warploom
