// The matmul tile bodies on their own: NVRTC for every target, and numbers from the simulator.
#include "ir/program/error.h"
#include "ir/scalar.h"
#include "runtime/compiler.h"
#include "runtime/device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace warploom;

namespace {

constexpr const char *kArchs[] = {"sm_80", "sm_90a", "sm_100"};

enum class Layout { depth, outer, strided };

// One kernel that runs a body over all tiles of rows x columns and stores the sums.
struct Case {
  const char *body; // "matmulTile", "matmulSimt" or "matmulSkinny"
  const char *shape;
  const char *type;
  Layout left, right;
  int tileRows, tileColumns, runs, threads;
  int rows, columns, depth;
  const char *staged = nullptr; // skinny: type of the staged activations

  bool isSkinny() const { return staged != nullptr; }
  int pitch() const { return (depth + 15) / 16 * 16; }
  int width() const { return tileColumns / runs; }
  // Elements of one right matrix, with the gaps of its strides, a multiple of 16 bytes.
  int rightElements() const { return (columns * (2 * depth + 1) + 15) / 16 * 16; }
  int leftElements() const { return rows * (2 * depth + 1); }
  int outerStride(Layout layout) const {
    return layout == Layout::depth ? depth : layout == Layout::outer ? 1 : 2 * depth + 1;
  }
  int depthStride(Layout layout, int outer) const {
    return layout == Layout::depth ? 1 : layout == Layout::outer ? outer : 2;
  }
};

std::string name(Layout layout) {
  return layout == Layout::depth   ? "Layout::depthContiguous"
         : layout == Layout::outer ? "Layout::outerContiguous"
                                   : "Layout::strided";
}

std::string callText(const Case &c) {
  if (c.isSkinny())
    return llvm::formatv(R"(
  {0} *staged = reinterpret_cast<{0} *>(sharedMemory() + Shape::sharedBytes);
  for (int index = threads.index; index < {1} * {2}; index += threads.count)
    store(staged + index / {2} * {3} + index % {2},
          convert<{0}>(load(a + index / {2} * {4} + index % {2} * {5})));
  syncBlock();
  auto sums = matmulSkinny<Shape, {6}>(threads, sharedMemory(),
                                       static_cast<const {0} *>(staged), {3}, right, {2},
                                       BlockSync{{});)",
                         c.staged, c.rows, c.depth, c.pitch(), c.outerStride(c.left),
                         c.depthStride(c.left, c.rows), name(c.right));
  return llvm::formatv(R"(
  Side<{0}, 1, {1}> left{{{{{{a, {2}, {3}, firstRow, {4}}}};
  auto sums = {5}<Shape, {6}, {7}>(threads, sharedMemory(), left, right, {8}, BlockSync{{});)",
                       c.type, c.tileRows, c.outerStride(c.left), c.depthStride(c.left, c.rows),
                       c.rows, c.body, name(c.left), name(c.right), c.depth);
}

std::string sourceOf(const Case &c) {
  std::string runs;
  for (int run = 0; run < c.runs; ++run)
    runs += llvm::formatv("{0}{{b + {1}, {2}, {3}, firstColumn, {4}}", run ? ", " : "",
                          run * c.rightElements(), c.outerStride(c.right),
                          c.depthStride(c.right, c.columns), c.columns);
  return llvm::formatv(R"(#include "kernels/matmul_simt.cuh"
#include "kernels/matmul_skinny.cuh"
#include "kernels/matmul_tile.cuh"
using namespace warploom;
extern "C" __global__ void __launch_bounds__({0}, 1)
matmul_case(const {1} *a, const {1} *b, Compute<{1}> *y) {{
  using Shape = {2};
  Threads threads{{threadIndex(), {0}};
  int firstRow = blockIndexY() * {3};
  int firstColumn = blockIndex() * {4};
  Side<{1}, {5}, {4}> right{{{{{6}}};{7}
  for (int index = threads.index; index < {3} * {8}; index += threads.count) {{
    int row = firstRow + index / {8};
    int column = firstColumn + index % {8} % {4};
    if (row < {9} && column < {10})
      store(y + (index % {8} / {4} * {9} + row) * {10} + column,
            sums.at(index / {8}, index % {8}));
  }
}
)",
                       c.threads, c.type, c.shape, c.tileRows, c.width(), c.runs, runs, callText(c),
                       c.tileColumns, c.rows, c.columns);
}

int shapeBytes(const Case &c) {
  // As the shapes of kernels/*.cuh say; stated again so that a change of theirs is seen.
  int sum = llvm::StringRef(c.type) == "double" ? 8 : 4;
  if (c.isSkinny()) {
    int stagedBytes = llvm::StringRef(c.staged) == "double"  ? 8
                      : llvm::StringRef(c.staged) == "float" ? 4
                                                             : 2;
    return c.rows * c.tileColumns * (c.threads / 32 + 1) * sum + c.rows * c.pitch() * stagedBytes;
  }
  if (llvm::StringRef(c.body) == "matmulSimt")
    return std::max(16 * (c.tileRows + c.tileColumns + 8), c.tileRows * (c.tileColumns + 4)) * sum;
  return std::max(3 * (c.tileRows + c.tileColumns) * 128, c.tileRows * (c.tileColumns + 8) * 4);
}

Program programOf(const Case &c, llvm::StringRef arch) {
  Program program;
  program.name = "matmul_case";
  program.arch = arch.str();
  auto buffer = [&](const char *name, BufferKind kind, const std::string &dtype, int64_t elements,
                    int64_t elementBytes) {
    Buffer added;
    added.name = name;
    added.kind = kind;
    added.dtype = dtype;
    added.dims = {SizeExpr(elements)};
    added.bytes = elements * elementBytes;
    program.buffers.push_back(added);
  };
  llvm::StringRef type = c.type;
  int64_t bytes = type == "double" ? 8 : type == "float" ? 4 : 2;
  std::string dtype = type == "double" ? "f64" : type == "float" ? "f32" : type.str();
  buffer("a", BufferKind::argument, dtype, c.leftElements(), bytes);
  buffer("b", BufferKind::argument, dtype, c.runs * c.rightElements(), bytes);
  buffer("y", BufferKind::result, bytes == 8 ? "f64" : "f32", c.runs * c.rows * c.columns,
         bytes == 8 ? 8 : 4);
  Kernel kernel;
  kernel.name = "matmul_case";
  kernel.ops = {"y = matmul"};
  kernel.source = sourceOf(c);
  kernel.grid = {SizeExpr((c.columns + c.width() - 1) / c.width()),
                 SizeExpr((c.rows + c.tileRows - 1) / c.tileRows), SizeExpr(1)};
  kernel.blockThreads = c.threads;
  kernel.sharedBytes = shapeBytes(c);
  for (unsigned index = 0; index < 3; ++index) {
    KernelArgument argument;
    argument.name = program.buffers[index].name;
    argument.buffer = index;
    kernel.arguments.push_back(argument);
  }
  kernel.reads = {0, 1};
  kernel.writes = {2};
  program.kernels.push_back(kernel);
  program.arguments = {0, 1};
  program.results = {{"y", 2, program.buffers[2].dims}};
  return program;
}

constexpr Layout D = Layout::depth, O = Layout::outer, S = Layout::strided;
const Case kCases[] = {
    {"matmulTile", "MatmulTileShape<64, 64, 2, 2>", "bf16", D, D, 64, 64, 1, 128, 70, 71, 72},
    {"matmulTile", "MatmulTileShape<64, 64, 2, 2>", "f16", D, O, 64, 64, 2, 128, 5, 40, 200},
    {"matmulTile", "MatmulTileShape<64, 64, 2, 2>", "bf16", O, D, 64, 64, 1, 128, 72, 33, 8},
    {"matmulTile", "MatmulTileShape<128, 64, 4, 2>", "bf16", O, O, 128, 64, 2, 256, 136, 72, 264},
    {"matmulTile", "MatmulTileShape<128, 128, 2, 4>", "f16", D, D, 128, 128, 2, 256, 17, 65, 136},
    {"matmulTile", "MatmulTileShape<128, 128, 2, 4>", "bf16", D, O, 128, 128, 1, 256, 197, 8, 64},
    {"matmulSimt", "MatmulSimtShape<float, 64, 64>", "float", D, D, 64, 64, 1, 256, 70, 65, 33},
    {"matmulSimt", "MatmulSimtShape<double, 64, 64>", "double", D, O, 64, 64, 2, 256, 17, 33, 5},
    {"matmulSimt", "MatmulSimtShape<bf16, 64, 64>", "bf16", O, S, 64, 64, 1, 256, 9, 70, 50},
    {"matmulSimt", "MatmulSimtShape<f16, 64, 64>", "f16", S, D, 64, 64, 2, 256, 66, 35, 50},
    {"matmulSkinny", "MatmulSkinnyShape<bf16, 1, 8, 8, 256>", "bf16", D, D, 1, 8, 1, 256, 1, 30,
     1032, "float"},
    {"matmulSkinny", "MatmulSkinnyShape<bf16, 3, 16, 8, 256>", "bf16", D, D, 3, 16, 2, 256, 3, 30,
     520, "float"},
    {"matmulSkinny", "MatmulSkinnyShape<f16, 16, 16, 8, 256>", "f16", O, D, 16, 16, 2, 256, 16, 24,
     264, "f16"},
    {"matmulSkinny", "MatmulSkinnyShape<bf16, 1, 32, 8, 256>", "bf16", D, O, 1, 32, 1, 256, 1, 40,
     300, "float"},
    {"matmulSkinny", "MatmulSkinnyShape<bf16, 7, 16, 8, 256>", "bf16", D, O, 7, 16, 2, 256, 7, 24,
     300, "float"},
    {"matmulSkinny", "MatmulSkinnyShape<f16, 16, 16, 8, 256>", "f16", D, O, 16, 16, 1, 256, 16, 24,
     99, "f16"},
    {"matmulSkinny", "MatmulSkinnyShape<float, 2, 8, 4, 256>", "float", D, D, 2, 8, 1, 256, 2, 13,
     100, "float"},
    {"matmulSkinny", "MatmulSkinnyShape<double, 5, 8, 2, 256>", "double", D, O, 5, 8, 1, 256, 5, 12,
     99, "double"},
    {"matmulSkinny", "MatmulSkinnyShape<bf16, 5, 16, 1, 256>", "bf16", S, S, 5, 16, 2, 256, 5, 13,
     99, "float"},
};

std::string label(const Case &c) {
  return llvm::formatv("{0} {1} {2}, {3}", c.shape, name(c.left), name(c.right),
                       c.isSkinny() ? c.staged : c.type);
}

TEST(MatmulBodies, CompileForEveryTargetWithoutSpillsOrStack) {
  for (const char *arch : kArchs) {
    Program program;
    for (const Case &c : kCases)
      program.kernels.push_back(programOf(c, arch).kernels[0]);
    program.arch = arch;
    std::vector<std::string> warnings;
    auto compiled = compileKernels(program, {}, warnings);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
    for (auto [c, kernel] : llvm::zip(kCases, *compiled)) {
      EXPECT_EQ(kernel.resources.spillBytes, 0u) << arch << " " << label(c);
      EXPECT_EQ(kernel.resources.stackBytes, 0u) << arch << " " << label(c);
    }
  }
}

template <class T> std::vector<T> randomElements(int64_t count, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  std::vector<T> elements(count);
  for (T &element : elements)
    element = convert<T>(normal(random));
  return elements;
}

// Relative L2 error of a simulated run against sums in double.
template <class T> double simulatedError(const Case &c, Device &device) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::mt19937 random(7);
  std::vector<T> a = randomElements<T>(c.leftElements(), random);
  std::vector<T> b = randomElements<T>(c.runs * c.rightElements(), random);
  std::vector<Sum> y(c.runs * c.rows * c.columns, std::nan(""));
  auto bytes = [](auto &elements) {
    return llvm::MutableArrayRef<std::byte>(reinterpret_cast<std::byte *>(elements.data()),
                                            elements.size() * sizeof(elements[0]));
  };
  auto executable = llvm::cantFail(device.load(programOf(c, "sm_90a"), {}, {}));
  std::vector<void *> memory;
  for (llvm::MutableArrayRef<std::byte> elements : {bytes(a), bytes(b), bytes(y)}) {
    memory.push_back(llvm::cantFail(device.allocate(elements.size())));
    llvm::cantFail(device.write(memory.back(), elements));
    llvm::cantFail(executable->bind(memory.size() - 1, memory.back()));
  }
  llvm::cantFail(executable->launch());
  llvm::cantFail(executable->synchronize());
  llvm::cantFail(device.read(bytes(y), memory[2]));
  double difference = 0, norm = 0;
  for (int run = 0; run < c.runs; ++run)
    for (int row = 0; row < c.rows; ++row)
      for (int column = 0; column < c.columns; ++column) {
        double sum = 0;
        for (int k = 0; k < c.depth; ++k)
          sum +=
              convert<double>(a[row * c.outerStride(c.left) + k * c.depthStride(c.left, c.rows)]) *
              convert<double>(b[run * c.rightElements() + column * c.outerStride(c.right) +
                                k * c.depthStride(c.right, c.columns)]);
        double off = y[(run * c.rows + row) * c.columns + column] - sum;
        difference += off * off;
        norm += sum * sum;
      }
  for (void *address : memory)
    device.release(address);
  return std::sqrt(difference / norm);
}

TEST(MatmulBodies, ComputeEveryElementOfRaggedProducts) {
  auto device = openSimulator();
  ASSERT_TRUE(static_cast<bool>(device)) << llvm::toString(device.takeError());
  for (const Case &c : kCases) {
    llvm::StringRef type = c.type;
    double error = type == "double"  ? simulatedError<double>(c, **device)
                   : type == "float" ? simulatedError<float>(c, **device)
                   : type == "f16"   ? simulatedError<f16>(c, **device)
                                     : simulatedError<bf16>(c, **device);
    EXPECT_LT(error, type == "double" ? 1e-14 : 1e-6) << label(c);
  }
}

} // namespace
