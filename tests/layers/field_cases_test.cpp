// Cases from the field that concern map and row kernels, in place updates and launch order.
#include "tests/layers/kernel_checker.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

void setReals(Tensor &tensor, llvm::ArrayRef<double> values) {
  WideTensor wide = widen(tensor);
  for (size_t i = 0; i < wide.reals.size(); ++i)
    wide.reals[i] = values[i % values.size()];
  tensor = narrow(wide);
}

void setIntegers(Tensor &tensor, llvm::ArrayRef<int64_t> values) {
  WideTensor wide = widen(tensor);
  for (size_t i = 0; i < wide.integers.size(); ++i)
    wide.integers[i] = values[i % values.size()];
  tensor = narrow(wide);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

TEST(FieldCases, ReadExpandedAndOverlappingViews) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    setReals(arguments[0], {0.7});
    std::vector<double> hankel;
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 4; ++j)
        hankel.push_back(std::sin(i + j));
    setReals(arguments[1], hankel);
  };
  expectMatchesInterpreter(R"(
graph @g(%x: f32[3, 3] strides [0, 0], %h: f32[16, 4] strides [1, 1]) -> (f32[3, 3], f32[16, 4]) {
  %y = sin(%x)
  %z = add(%h, %h)
  return %y, %z
})",
                           options);
}

TEST(FieldCases, WriteWholeRowsNextToPaddedOnes) {
  expectMatchesInterpreter(R"(
graph @g(%x: bf16[4, 40] strides [72, 1], %y: f32[8, 5] strides [7, 1] offset 3)
    -> (bf16[4, 40], f32[8, 5]) {
  %a = relu(%x)
  %b = neg(%y)
  return %a, %b
})");
}

TEST(FieldCases, ReduceAReversedDot) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[31] strides [-1] offset 30, %w: f32[31]) -> (f32[]) {
  %p = mul(%x, %w)
  %s = reduce_sum(%p)
  return %s
})");
}

TEST(FieldCases, BroadcastBeforeTranspose) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[3, 5, 7], %w: f32[2, 3, 7, 5]) -> (f32[2, 3, 7, 5]) {
  %b = broadcast(%x) {shape = [2, 3, 5, 7], dims = [1, 2, 3]}
  %t = transpose(%b) {permutation = [0, 1, 3, 2]}
  %y = add(%t, %w)
  return %y
})");
}

TEST(FieldCases, ReshapeBetweenBroadcastAndTranspose) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[40, 2]) -> (f32[80, 3]) {
  %b = broadcast(%x) {shape = [40, 3, 2], dims = [0, 2]}
  %r = reshape(%b) {shape = [40, 2, 3]}
  %n = neg(%r)
  %y = reshape(%n) {shape = [80, 3]}
  return %y
})");
}

// The same rows seen through views that permute them are other elements.
TEST(FieldCases, AddPermutedRowsOfOneValue) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[8, 16]) -> (f32[8, 16]) {
  %r = reshape(%x) {shape = [4, 2, 16]}
  %t = transpose(%r) {permutation = [1, 0, 2]}
  %p = reshape(%t) {shape = [8, 16]}
  %s = add(%x, %p)
  %y = softmax(%s)
  return %y
})");
}

TEST(FieldCases, SurviveEmptyTensors) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[3, 4, 0, 5], %y: f32[5, 0], %z: f32[0, 3]) -> (f32[3, 0, 5], f32[5], f32[0, 3]) {
  %s = reduce_sum(%x) {axes = [1]}
  %t = reduce_sum(%y) {axes = [1]}
  %u = neg(%z)
  return %s, %t, %u
})");
}

TEST(FieldCases, DivideIntegersOfEverySign) {
  for (const char *dtype : {"i32", "i64", "i8"}) {
    CheckOptions options;
    bool isByte = llvm::StringRef(dtype) == "i8";
    int64_t lowest = isByte ? -128 : dtype[1] == '3' ? INT32_MIN : INT64_MIN;
    options.arrange = [&](std::vector<Tensor> &arguments) {
      setIntegers(arguments[0], {7, -7, 7, -7, 1, lowest, 5, 0, lowest});
      setIntegers(arguments[1], {2, 2, -2, -2, lowest, -1, 0, 3, 1});
    };
    std::string type = std::string(dtype) + "[9]";
    expectMatchesInterpreter("graph @g(%a: " + type + ", %b: " + type + ") -> (" + type + ", " +
                                 type + ", " + type + ") {\n  %f = floor_div(%a, %b)\n" +
                                 "  %t = trunc_div(%a, %b)\n  %r = remainder(%a, %b)\n" +
                                 "  return %f, %t, %r\n}\n",
                             options);
  }
}

TEST(FieldCases, CountBeyondThirtyTwoBits) {
  expectMatchesInterpreter(R"(
graph @g() -> (i64[9]) {
  %i = iota {axis = 0} : i64[9]
  %c = constant {value = 1500000000} : i64[]
  %y = mul(%i, %c)
  return %y
})");
}

TEST(FieldCases, CarryEveryConstantExactly) {
  for (std::string dtype : {"f32", "f64", "f16", "bf16"}) {
    std::string body, types, results;
    for (std::string value : {"inf", "-inf", "nan", "-0.0", "3.4028235e38", "1.0e-45", "0.1"}) {
      std::string n = std::to_string(body.size());
      body += "  %c" + n + " = constant {value = " + value + "} : " + dtype + "[]\n  %y" + n +
              " = select(%m, %c" + n + ", %x)\n";
      types += (types.empty() ? "" : ", ") + dtype + "[4]";
      results += (results.empty() ? "%y" : ", %y") + n;
    }
    CheckOptions options;
    options.tolerance = 1e-300;
    options.arrange = [](std::vector<Tensor> &arguments) { setIntegers(arguments[0], {1}); };
    expectMatchesInterpreter("graph @g(%m: i1[4], %x: " + dtype + "[4]) -> (" + types + ") {\n" +
                                 body + "  return " + results + "\n}\n",
                             options);
  }
}

TEST(FieldCases, PropagateNaNFromEitherSide) {
  for (const char *dtype : {"f32", "bf16"}) {
    CheckOptions options;
    options.arrange = [](std::vector<Tensor> &arguments) {
      setReals(arguments[0], {1, kNaN, 2, -0.0, 0.0, kNaN, -3, kInfinity});
      setReals(arguments[1], {kNaN, 1, 3, 0.0, -0.0, kNaN, -4, kNaN});
    };
    std::string type = std::string(dtype) + "[8]";
    expectMatchesInterpreter("graph @g(%a: " + type + ", %b: " + type + ") -> (" + type + ", " +
                                 type + ", " + type + ", " + type +
                                 ") {\n  %x = max(%a, %b)\n  %n = min(%a, %b)\n  %r = relu(%a)\n" +
                                 "  %c = clamp(%a, %b, %x)\n  return %x, %n, %r, %c\n}\n",
                             options);
  }
}

TEST(FieldCases, KeepNegativeZeroThroughAnAddition) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) { setReals(arguments[0], {-0.5}); };
  expectMatchesInterpreter(R"(
graph @g(%x: f32[4]) -> (f32[4]) {
  %zero = constant {value = 0.0} : f32[]
  %c = ceil(%x)
  %s = add(%c, %zero)
  %y = reciprocal(%s)
  return %y
})",
                           options);
}

TEST(FieldCases, RoundAtExplicitCasts) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    setReals(arguments[0], {1 + 1.0 / 512, 1 + 3.0 / 512});
  };
  options.tolerance = 1e-12;
  expectMatchesInterpreter(R"(
graph @g(%x: f32[2]) -> (f32[2]) {
  %b = cast(%x) {to = bf16}
  %y = cast(%b) {to = f32}
  return %y
})",
                           options);
}

TEST(FieldCases, GiveNaNForRowsWithoutASoftmax) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    setReals(arguments[0], {-kInfinity, -kInfinity, -kInfinity, 1, kInfinity, 2, kInfinity,
                            kInfinity, 0, 1, kNaN, 2, 1, 2, -kInfinity});
  };
  expectMatchesInterpreter(R"(
graph @g(%x: f32[5, 3]) -> (f32[5, 3]) {
  %y = softmax(%x)
  return %y
})",
                           options);
}

TEST(FieldCases, SumWhereTheStorageTypeWouldOverflow) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    setReals(arguments[0], {300});
    setReals(arguments[1], {100});
    setReals(arguments[2], {1});
  };
  expectMatchesInterpreter(R"(
graph @g(%x: f16[2, 4096], %h: f16[1, 4096], %o: bf16[4096], %w: f16[4096])
    -> (f16[2, 4096], f16[1], bf16[]) {
  %n = rms_norm(%x, %w)
  %m = reduce_mean(%h) {axes = [1]}
  %s = reduce_sum(%o)
  return %n, %m, %s
})",
                           options);
}

TEST(FieldCases, ReduceIntegersExactly) {
  for (std::string dtype : {"i8", "u8", "i32", "i64"}) {
    std::string type = dtype + "[5]";
    expectMatchesInterpreter("graph @g(%x: " + dtype + "[5, 77]) -> (" + type + ", " + type + ", " +
                             type + ", " + type + ") {\n  %s = reduce_sum(%x) {axes = [1]}\n" +
                             "  %p = reduce_prod(%x) {axes = [1]}\n" +
                             "  %m = reduce_max(%x) {axes = [1]}\n" +
                             "  %n = reduce_min(%x) {axes = [1]}\n  return %s, %p, %m, %n\n}\n");
  }
}

TEST(FieldCases, ShiftACacheByASliceOfItself) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    setReals(arguments[0], {1, 2, 3, 4, 5, 6, 7, 8});
    setIntegers(arguments[1], {1});
  };
  expectMatchesInterpreter(R"(
graph @g(%base: mut f32[4, 2], %position: i32[]) -> (f32[4, 2]) {
  %s = slice(%base) {starts = [0, 0], limits = [3, 2]}
  %n = neg(%s)
  %y = kv_update(%base, %n, %position) {axis = 0}
  return %y
})",
                           options);
}

TEST(FieldCases, ReadACacheBeforeAndAfterItsUpdate) {
  expectMatchesInterpreter(R"(
graph @g(%cache: mut f32[1, 2, 8, 4], %new: f32[1, 2, 1, 4], %position: i32[])
    -> (f32[1, 2, 8, 4], f32[1, 2, 8, 4], f32[1, 2, 8, 4]) {
  %before = neg(%cache)
  %y = kv_update(%cache, %new, %position)
  %after = exp(%y)
  return %before, %y, %after
})");
}

TEST(FieldCases, UpdateOneCacheTwice) {
  expectMatchesInterpreter(R"(
graph @g(%cache: mut f32[1, 2, 8, 4], %a: f32[1, 2, 3, 4], %b: f32[1, 2, 3, 4], %position: i32[])
    -> (f32[1, 2, 8, 4]) {
  %x = kv_update(%cache, %a, %position)
  %y = kv_update(%x, %b, %position)
  return %y
})");
}

TEST(FieldCases, WriteNothingOutsideACache) {
  for (int64_t position : {-9, -1, 6, 7, 8, 100}) {
    CheckOptions options;
    options.arrange = [&](std::vector<Tensor> &arguments) {
      setIntegers(arguments[2], {position});
    };
    expectMatchesInterpreter(R"(
graph @g(%cache: mut bf16[1, 2, 8, 16], %new: bf16[1, 2, 2, 16], %position: i32[])
    -> (bf16[1, 2, 8, 16]) {
  %y = kv_update(%cache, %new, %position)
  return %y
})",
                             options);
  }
}

TEST(FieldCases, ComputeThePositionOfAnUpdate) {
  expectMatchesInterpreter(R"(
graph @g(%cache: mut bf16[2, 2, 16, 16], %new: bf16[2, 2, 2, 16], %position: i32[2])
    -> (bf16[2, 2, 16, 16]) {
  %one = constant {value = 1} : i32[]
  %next = add(%position, %one)
  %y = kv_update(%cache, %new, %next)
  return %y
})");
}

TEST(FieldCases, ReturnOneValueSeveralTimes) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[4, 8]) -> (f32[4, 8], f32[4, 8], f32[32]) {
  %y = exp(%x)
  %r = reshape(%y) {shape = [32]}
  return %y, %y, %r
})");
}

TEST(FieldCases, ReturnConstantsAndArguments) {
  expectMatchesInterpreter(R"(
graph @g(%x: f32[4, 8], %unused: f32[3]) -> (f32[], f32[4, 8], f32[32], f32[4]) {
  %c = constant {value = 1.0} : f32[]
  %r = reshape(%x) {shape = [32]}
  %full = constant {value = 2.0} : f32[4, 4]
  %s = reduce_sum(%full) {axes = [1]}
  return %c, %x, %r, %s
})");
}

TEST(FieldCases, SurviveHostileNames) {
  expectMatchesInterpreter(R"(
graph @g(%C: f32[2, 16], %blockIdx: f32[2, 16], %float: f32[16], %T0: f32[16], %scratch: f32[16],
         %__shared__: f32[16], %lane: f32[16], %threadIndex: f32[16]) -> (f32[2, 16]) {
  %row = add(%C, %blockIdx)
  %op_add = mul(%row, %float)
  %column = softmax(%op_add)
  %load = add(%column, %T0)
  %convert = add(%load, %scratch)
  %store = add(%convert, %__shared__)
  %y1 = mul(%store, %lane)
  %y2 = mul(%y1, %threadIndex)
  return %y2
})");
}

TEST(FieldCases, RunKernelsOfManyOpsUnderABoundedName) {
  std::string text = "graph @g(%x: f32[16]) -> (f32[16]) {\n  %v0 = neg(%x)\n";
  for (int i = 1; i < 60; ++i)
    text += llvm::formatv(
                "  %a_rather_long_name_of_forty_characters_{0} = {1}(%{2})\n", i,
                i % 2 ? "tanh" : "sin",
                i == 1 ? "v0"
                       : llvm::formatv("a_rather_long_name_of_forty_characters_{0}", i - 1).str())
                .str();
  text += "  return %a_rather_long_name_of_forty_characters_59\n}\n";
  Compiled compiled = compileText(text);
  ASSERT_EQ(compiled.program.kernels.size(), 1u);
  EXPECT_LT(compiled.program.kernels[0].name.size(), 128u);
  expectMatchesInterpreter(text);
}

TEST(FieldCases, ReduceRowsOfSymbolicSizes) {
  CheckOptions options;
  options.symbols["batch"] = 3;
  options.symbols["length"] = 77;
  expectMatchesInterpreter(R"(
graph @g(%x: f32[batch, length], %y: bf16[batch, 5, 64], %g: bf16[64])
    -> (f32[batch, length], bf16[batch, 5, 64], f32[batch]) {
  %a = softmax(%x)
  %b = rms_norm(%y, %g)
  %m = reduce_mean(%x) {axes = [1]}
  return %a, %b, %m
})",
                           options);
}

} // namespace
