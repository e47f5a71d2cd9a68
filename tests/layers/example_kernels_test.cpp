// Every kernel of the example layers by itself on the simulator: on the interpreter's values of
// what it reads, against the interpreter's values of what it writes. At full size, with the
// schedule chosen for that size, a few of its blocks run.
#include "tests/layers/kernel_checker.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

constexpr std::byte kPoison{0xa5};

// What a layer's buffers hold, by name.
struct LayerValues {
  llvm::StringMap<Tensor> before; // arguments, those of mutable ones as they were given
  llvm::StringMap<WideTensor> after;
};

// One kernel as a program of its own: it reads arguments, and writes results or mutable arguments.
// What has no value in the layer is scratch space of the kernel.
Program isolate(const Program &program, const Kernel &kernel, const LayerValues &values) {
  Program alone;
  alone.name = program.name;
  alone.arch = program.arch;
  alone.symbols = program.symbols;
  alone.arenaBytes = program.arenaBytes;
  alone.kernels.push_back(kernel);
  llvm::DenseMap<unsigned, unsigned> places;
  for (KernelArgument &argument : alone.kernels[0].arguments) {
    if (argument.kind != KernelArgument::Kind::buffer)
      continue;
    auto [place, isNew] = places.try_emplace(argument.buffer, alone.buffers.size());
    if (isNew) {
      Buffer &buffer = alone.buffers.emplace_back(program.buffers[argument.buffer]);
      bool isWritten = llvm::is_contained(kernel.writes, argument.buffer);
      bool isTensor = values.after.contains(buffer.name);
      if (isTensor && !isWritten)
        buffer.kind = BufferKind::argument;
      else if (isTensor && buffer.kind != BufferKind::mutable_)
        buffer.kind = BufferKind::result;
      if (buffer.kind == BufferKind::result) {
        alone.results.push_back({buffer.name, place->second, buffer.dims});
      } else if (isTensor) {
        alone.arguments.push_back(place->second);
      }
    }
    argument.buffer = place->second;
  }
  for (unsigned &buffer : alone.kernels[0].reads)
    buffer = places.lookup(buffer);
  for (unsigned &buffer : alone.kernels[0].writes)
    buffer = places.lookup(buffer);
  return alone;
}

LayerValues layerValues(const Compiled &layer, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> arguments;
  LayerValues values;
  for (const GraphArgument &argument : layer.fused.arguments()) {
    const TensorType &type = argument.value.type();
    // Weights keep the size of what they multiply, so that no branch drowns another.
    double scale = type.dims.size() == 2 ? 1 / std::sqrt(double(type.dims[1].constant())) : 1;
    Tensor tensor = randomTensor(type, {}, random, scale);
    if (argument.value.name() == "position")
      std::fill(tensor.bytes.begin(), tensor.bytes.end(), std::byte(0));
    values.before[argument.value.name()] = tensor;
    arguments.push_back(std::move(tensor));
  }
  InterpretOptions options;
  options.observe = [&](Value value, const WideTensor &wide) { values.after[value.name()] = wide; };
  Interpretation whole = llvm::cantFail(interpret(layer.fused, arguments, {}, options));
  for (const auto &[index, result] : llvm::enumerate(layer.program.results))
    values.after[layer.program.buffers[result.buffer].name] = whole.results[index];
  for (const auto &[index, argument] : llvm::enumerate(layer.fused.arguments()))
    values.after[argument.value.name()] =
        argument.isMutable ? whole.mutated[index] : widen(arguments[index]);
  return values;
}

// The elements that the run has changed, beside what they should be.
struct Changed {
  Tensor actual;
  WideTensor wanted;
};

Changed changedElements(llvm::ArrayRef<std::byte> before, llvm::ArrayRef<std::byte> bytes,
                        const WideTensor &wanted) {
  Changed changed;
  changed.actual.dtype = changed.wanted.dtype = wanted.dtype;
  unsigned size = byteSize(wanted.dtype);
  int64_t count = 0;
  for (int64_t index = 0; index < wanted.elementCount(); ++index) {
    llvm::ArrayRef<std::byte> element = bytes.slice(index * size, size);
    if (element == before.slice(index * size, size))
      continue;
    ++count;
    llvm::append_range(changed.actual.bytes, element);
    changed.wanted.reals.push_back(wanted.reals[index]);
  }
  changed.actual.dims = changed.wanted.dims = {count};
  return changed;
}

void expectKernelMatches(const Program &program, const Kernel &kernel, const LayerValues &values,
                         uint64_t mostBlocks) {
  SCOPED_TRACE(kernel.name);
  Program alone = isolate(program, kernel, values);
  std::unique_ptr<Device> device =
      llvm::cantFail(openSimulator({.seed = 1, .mostBlocks = mostBlocks}));
  llvm::Expected<std::unique_ptr<Executable>> loaded = device->load(alone, {}, {});
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  std::vector<std::vector<std::byte>> before;
  std::vector<void *> addresses;
  for (const auto &[index, buffer] : llvm::enumerate(alone.buffers)) {
    before.emplace_back();
    addresses.push_back(nullptr);
    if (buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::counter)
      continue;
    if (buffer.kind == BufferKind::result)
      before[index].assign(llvm::cantFail(buffer.bytes.evaluate({})), kPoison);
    else if (buffer.kind == BufferKind::mutable_)
      before[index] = values.before.lookup(buffer.name).bytes;
    else
      before[index] = narrow(values.after.lookup(buffer.name)).bytes;
    ASSERT_FALSE(before[index].empty()) << buffer.name;
    addresses[index] = llvm::cantFail(device->allocate(before[index].size()));
    llvm::cantFail(device->write(addresses[index], before[index]));
    llvm::cantFail((*loaded)->bind(index, addresses[index]));
  }
  llvm::Error error = (*loaded)->launch();
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error)) << "\n" << kernel.source;
  int64_t compared = 0, total = 0;
  for (unsigned index : alone.kernels[0].writes) {
    const Buffer &buffer = alone.buffers[index];
    if (buffer.kind != BufferKind::result && buffer.kind != BufferKind::mutable_)
      continue;
    const WideTensor &wanted = values.after.find(buffer.name)->second;
    std::vector<std::byte> bytes(before[index].size());
    llvm::cantFail(device->read(bytes, addresses[index]));
    Changed changed = changedElements(before[index], bytes, wanted);
    compared += changed.actual.elementCount();
    if (buffer.kind == BufferKind::result)
      total += wanted.elementCount();
    if (changed.actual.elementCount() == 0)
      continue;
    // Operands and result are rounded to bf16, and the operands' errors are random in the sums.
    Difference difference = compare(changed.actual, changed.wanted);
    EXPECT_LE(difference.relativeL2, 2 * unitRoundoff(wanted.dtype)) << buffer.name;
    EXPECT_LE(difference.relativeMax, 4 * unitRoundoff(wanted.dtype)) << buffer.name;
  }
  int64_t blocks = 1;
  for (const SizeExpr &extent : kernel.grid)
    blocks *= llvm::cantFail(extent.evaluate({}));
  // The sampled blocks write their share, which is smaller at the edges.
  EXPECT_GE(compared * blocks * 4,
            total * (mostBlocks ? std::min<int64_t>(blocks, mostBlocks) : blocks));
  EXPECT_GT(compared, 0);
}

void expectEveryKernelMatches(const std::string &example, uint64_t mostBlocks) {
  std::string path = std::string(WARPLOOM_SOURCE_DIR) + "/examples/" + example + ".loom";
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text)) << path;
  Compiled layer = compileText((*text)->getBuffer());
  LayerValues values = layerValues(layer, 1);
  for (const Kernel &kernel : layer.program.kernels)
    expectKernelMatches(layer.program, kernel, values, mostBlocks);
}

class ExampleKernels : public ::testing::TestWithParam<std::string> {};

TEST_P(ExampleKernels, MatchTheInterpreterAtReducedSize) {
  expectEveryKernelMatches(GetParam() + "_small", 0);
}

TEST_P(ExampleKernels, MatchTheInterpreterAtFullSize) {
  expectEveryKernelMatches(GetParam(), 4);
}

INSTANTIATE_TEST_SUITE_P(All, ExampleKernels,
                         ::testing::Values("gpt2_decode", "gpt2_prefill", "bert_encoder",
                                           "llama_decode", "llama_prefill", "vit_block"),
                         [](const auto &info) { return info.param; });

} // namespace
