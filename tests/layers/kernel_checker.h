// Compiles a graph's text and checks what its kernels compute on the simulator against the
// interpreter.
#pragma once

#include "codegen/generate.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "passes/passes.h"
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <random>

namespace warploom::testing {

// Fused and generated, for one arch.
struct Compiled {
  Graph source{""}, fused{""};
  Program program;
};

inline Compiled compileText(llvm::StringRef text, llvm::StringRef arch = "sm_90a") {
  Module module = llvm::cantFail(parseModule(text, "test.loom"));
  Compiled compiled;
  compiled.source = module.graphs.front().clone();
  compiled.fused = std::move(module.graphs.front());
  Target target = llvm::cantFail(Target::fromArch(arch));
  FusionPolicy policy;
  std::vector<Remark> remarks;
  llvm::SmallVector<const Pass *, 8> passes;
  for (const Pass &pass : pipeline())
    passes.push_back(&pass);
  runPasses(compiled.fused, passes, {target, policy, remarks},
            [](const PassReport &, const Graph &) {});
  llvm::Expected<Program> program = generate(compiled.fused, target);
  if (!program)
    ADD_FAILURE() << llvm::toString(program.takeError()) << "\n" << print(compiled.fused);
  else
    compiled.program = std::move(*program);
  return compiled;
}

// Random values: normal for floating types, 0 to 8 for integers, mostly true for i1.
inline Tensor randomTensor(const TensorType &type, const SymbolBindings &symbols,
                           std::mt19937_64 &random, double scale = 1) {
  WideTensor wide;
  wide.dtype = type.dtype;
  for (const Dim &dim : type.dims)
    wide.dims.push_back(llvm::cantFail(dim.evaluate(symbols)));
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < elementCount(wide.dims); ++i)
    if (isFloating(type.dtype))
      wide.reals.push_back(normal(random));
    else
      wide.integers.push_back(type.dtype == DType::i1 ? random() % 4 != 0 : random() % 9);
  return narrow(wide);
}

// Room for a tensor of this argument's or result's type: its elements are written with the strides
// of the type.
struct Placement {
  uint64_t bytes;
  std::vector<int64_t> strides;
  int64_t offset;
};

inline Placement placementOf(const Buffer &buffer, const SymbolBindings &symbols) {
  Placement placement;
  placement.bytes = llvm::cantFail(buffer.bytes.evaluate(symbols));
  placement.offset = llvm::cantFail(buffer.offsetElements.evaluate(symbols));
  int64_t stride = 1;
  std::vector<int64_t> dims;
  for (const SizeExpr &dim : buffer.dims)
    dims.push_back(llvm::cantFail(dim.evaluate(symbols)));
  placement.strides.resize(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; stride *= dims[axis])
    placement.strides[axis] =
        buffer.strides.empty() ? stride : llvm::cantFail(buffer.strides[axis].evaluate(symbols));
  return placement;
}

// The bytes of a dense tensor at its places in the buffer.
inline std::vector<std::byte> place(const Tensor &tensor, const Placement &placement) {
  std::vector<std::byte> bytes(placement.bytes);
  unsigned size = byteSize(tensor.dtype);
  std::vector<int64_t> index(tensor.dims.size(), 0);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    int64_t at = placement.offset;
    for (size_t axis = 0; axis < index.size(); ++axis)
      at += index[axis] * placement.strides[axis];
    std::copy_n(tensor.bytes.begin() + i * size, size, bytes.begin() + at * size);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < tensor.dims[axis])
        break;
      index[axis] = 0;
    }
  }
  return bytes;
}

struct CheckOptions {
  SymbolBindings symbols;
  uint64_t seed = 1;
  double scale = 1;
  double tolerance = 0;        // relative L2 and maximum; 0: from the result's dtype
  bool roundToStorage = false; // the interpreter rounds every value, as op-by-op execution does
  unsigned runs = 2;           // one executable, launched so often
  std::function<void(std::vector<Tensor> &)> arrange; // edits the random arguments
};

inline double defaultTolerance(DType dtype) {
  if (!isFloating(dtype))
    return 0;
  return dtype == DType::f64 ? 1e-12 : std::max(4 * unitRoundoff(dtype), 2e-5);
}

// Runs the graph on the simulator and compares every result and every mutable argument.
inline void expectMatchesInterpreter(llvm::StringRef text, const CheckOptions &options = {}) {
  Compiled compiled = compileText(text);
  if (compiled.program.kernels.empty())
    return;
  const Graph &graph = compiled.source;
  const Program &program = compiled.program;
  std::mt19937_64 random(options.seed);
  std::vector<Tensor> arguments;
  for (const GraphArgument &argument : graph.arguments())
    arguments.push_back(
        randomTensor(argument.value.type(), options.symbols, random, options.scale));
  if (options.arrange)
    options.arrange(arguments);
  InterpretOptions interpretOptions;
  interpretOptions.roundToStorage = options.roundToStorage;
  Interpretation expected =
      llvm::cantFail(interpret(graph, arguments, options.symbols, interpretOptions));

  std::unique_ptr<Device> device = llvm::cantFail(openSimulator({options.seed}));
  llvm::Expected<std::unique_ptr<Executable>> loaded = device->load(program, options.symbols, {});
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  Executable &executable = **loaded;
  std::vector<void *> addresses(program.buffers.size(), nullptr);
  for (unsigned run = 0; run < options.runs; ++run) {
    for (unsigned index = 0; index < program.buffers.size(); ++index) {
      const Buffer &buffer = program.buffers[index];
      if (buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::counter)
        continue;
      Placement placement = placementOf(buffer, options.symbols);
      if (!addresses[index])
        addresses[index] = llvm::cantFail(device->allocate(placement.bytes));
      std::vector<std::byte> poison(placement.bytes, std::byte(0xff));
      llvm::cantFail(device->write(addresses[index], poison));
      llvm::cantFail(executable.bind(index, addresses[index]));
    }
    for (unsigned index = 0; index < program.arguments.size(); ++index) {
      unsigned buffer = program.arguments[index];
      llvm::cantFail(device->write(
          addresses[buffer],
          place(arguments[index], placementOf(program.buffers[buffer], options.symbols))));
    }
    if (llvm::Error error = executable.launch())
      FAIL() << llvm::toString(std::move(error)) << "\n" << program.kernels[0].source;
    auto check = [&](unsigned buffer, const WideTensor &wanted, llvm::StringRef name) {
      Tensor actual;
      actual.dtype = wanted.dtype;
      actual.dims = wanted.dims;
      actual.bytes.resize(wanted.elementCount() * byteSize(wanted.dtype));
      llvm::cantFail(device->read(actual.bytes, addresses[buffer]));
      Difference difference = compare(actual, wanted);
      double bound = options.tolerance ? options.tolerance : defaultTolerance(wanted.dtype);
      EXPECT_LE(difference.relativeL2, bound) << name.str() << ", run " << run;
      EXPECT_LE(difference.relativeMax, 4 * bound) << name.str() << ", run " << run;
    };
    for (const auto &[result, wanted] : llvm::zip(program.results, expected.results))
      check(result.buffer, wanted, result.name);
    for (unsigned index = 0; index < graph.arguments().size(); ++index)
      if (graph.arguments()[index].isMutable)
        check(program.arguments[index], expected.mutated[index],
              graph.arguments()[index].value.name());
  }
}

} // namespace warploom::testing
