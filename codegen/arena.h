// The static plan of the arena: where each temporary and counter lies.
#pragma once

#include "ir/program/program.h"

namespace warploom {

// Sets arenaOffset of every temporary and counter, and arenaBytes. A temporary takes over the
// memory of another whose every use is before its own first use by a path of edges. With
// keepTemporaries each has memory of its own.
void planArena(Program &program, bool keepTemporaries);

} // namespace warploom
