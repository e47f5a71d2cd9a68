// Random layouts of arguments and random views of values.
#pragma once

#include "ir/graph.h"
#include "tests/fuzz/dice.h"

namespace warploom::fuzz {

// Gives a type of constant dims strides and an offset: permuted axes, gaps, and now and then an
// expanded axis (stride 0) or a reversed one.
void layOut(TensorType &type, Dice &dice);

// The attributes of a view of a value of `dims`, which need not fit them; new dims come from the
// palette. None for an op that is not made here.
std::optional<Attributes> randomView(Op op, const Dims &dims, llvm::ArrayRef<Dim> palette,
                                     Dice &dice);

} // namespace warploom::fuzz
