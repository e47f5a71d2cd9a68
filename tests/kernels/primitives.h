// One small kernel per primitive: what it computes is checked on the simulator against plain
// arithmetic, and on a GPU against the simulator.
#pragma once

#include "runtime/device.h"

#include <string>
#include <vector>

namespace warploom::testing {

constexpr int kWords = 1024; // of input and of output
constexpr int kThreads = 64;

struct PrimitiveCase {
  const char *name;
  const char *body; // reads in[], writes out[]; i is the thread, shared the shared memory's words
};

inline constexpr PrimitiveCase kPrimitives[] = {
    {"shuffles", R"(
  store(out + i, shuffleXor(load(in + i), 5));
  store(out + 64 + i, shuffle(load(in + i), (i * 7 + 3) % 32));)"},
    {"named_barriers", R"(
  // Each warp has a barrier of its own, then both meet.
  store(shared + i, load(in + i));
  syncThreads(1 + i / 32, 32);
  uint32_t own = load(shared + (i ^ 31));
  syncThreads(3, 64);
  store(out + i, own + load(shared + 63 - i));)"},
    {"asynchronous_copies", R"(
  if (i < 16)
    copyAsync16(shared + 4 * i, in + 8 * i, i % 3 != 0);
  commitCopies();
  if (i < 16)
    copyAsync16(shared + 64 + 4 * i, in + 512 + 4 * i, true);
  commitCopies();
  waitCopies<1>();
  syncBlock();
  store(out + i, load(shared + i));
  waitCopies<0>();
  syncBlock();
  store(out + 64 + i, load(shared + 64 + i));)"},
    {"matrix_loads", R"(
  for (int word = i; word < 256; word += 64)
    store(shared + word, load(in + word));
  syncBlock();
  int lane = i % 32;
  uint32_t plain[4], transposed[4];
  loadMatrices(plain, shared + (i / 32 * 32 + lane) * 4);
  loadMatricesTransposed(transposed, shared + (i / 32 * 32 + lane) * 4);
  for (int matrix = 0; matrix < 4; ++matrix) {
    store(out + matrix * 64 + i, plain[matrix]);
    store(out + 256 + matrix * 64 + i, transposed[matrix]);
  })"},
    {"matrix_products", R"(
  // in[] holds small whole numbers, so that sums are exact: a at 0 (16x16), b at 256 (16x8, by columns).
  int lane = i % 32, row = lane / 4, k = lane % 4 * 2;
  auto a = [&](int r, int c) { return static_cast<float>(load(in + r * 16 + c) % 17); };
  auto b = [&](int c, int n) { return static_cast<float>(load(in + 256 + n * 16 + c) % 13); };
  float asBf16[4] = {1, 2, 3, 4}, asF16[4] = {};
  uint32_t left[4] = {packPair(a(row, k), a(row, k + 1), bf16()),
                      packPair(a(row + 8, k), a(row + 8, k + 1), bf16()),
                      packPair(a(row, k + 8), a(row, k + 9), bf16()),
                      packPair(a(row + 8, k + 8), a(row + 8, k + 9), bf16())};
  multiplyAccumulate(asBf16, left, packPair(b(k, row), b(k + 1, row), bf16()),
                     packPair(b(k + 8, row), b(k + 9, row), bf16()), bf16());
  uint32_t half[4] = {packPair(a(row, k), a(row, k + 1), f16()),
                      packPair(a(row + 8, k), a(row + 8, k + 1), f16()),
                      packPair(a(row, k + 8), a(row, k + 9), f16()),
                      packPair(a(row + 8, k + 8), a(row + 8, k + 9), f16())};
  multiplyAccumulate(asF16, half, packPair(b(k, row), b(k + 1, row), f16()),
                     packPair(b(k + 8, row), b(k + 9, row), f16()), f16());
  for (int index = 0; index < 4; ++index) {
    store(out + index * 64 + i, bitcast<uint32_t>(asBf16[index]));
    store(out + 256 + index * 64 + i, bitcast<uint32_t>(asF16[index]));
  })"},
    {"pairs", R"(
  // Any bits as floats: rounding to nearest even, overflow, subnormals, infinities; NaN apart.
  for (int word = i; word < 512; word += 64) {
    float low = bitcast<float>(load(in + word)), high = bitcast<float>(load(in + 1023 - word));
    low = low != low ? 1.0f : low;
    high = high != high ? 2.0f : high;
    store(out + word, packPair(low, high, bf16()));
    store(out + 512 + word, packPair(low, high, f16()));
  })"},
    {"scalar_rounding", R"(
  // The conversions of ir/storage.h agree with the machine's, NaN apart.
  for (int word = i; word < 512; word += 64) {
    float value = bitcast<float>(load(in + word));
    value = value != value ? 1.0f : value;
    store(out + word, packPair(toFloat(fromFloat<bf16>(value)), 0.0f, bf16()));
    store(out + 512 + word, packPair(toFloat(fromFloat<f16>(value)), 0.0f, f16()));
  })"},
    {"vectors", R"(
  Vec<uint32_t, 4> once = loadOnce(in + 4 * i);
  Vec<uint32_t, 2> pair = load<2>(in + 256 + 2 * i);
  Vec<uint32_t, 4> mixed = {{once.lane[3], pair.lane[1], once.lane[0], loadFresh(in + i)}};
  store(out + 4 * i, mixed);)"},
};

// One block of the case's kernel over `in` and `out`, kWords words each.
inline Program primitiveProgram(const PrimitiveCase &primitive) {
  Program program;
  program.name = primitive.name;
  program.arch = "sm_80";
  for (auto [name, kind] : {std::pair("in", BufferKind::argument), {"out", BufferKind::result}}) {
    Buffer buffer;
    buffer.name = name;
    buffer.kind = kind;
    buffer.dtype = "i32";
    buffer.dims = {kWords};
    buffer.bytes = kWords * 4;
    program.buffers.push_back(buffer);
  }
  Kernel kernel;
  kernel.name = std::string("primitive_") + primitive.name;
  kernel.ops = {std::string("out = ") + primitive.name};
  kernel.source = "#include \"kernels/tile.cuh\"\nusing namespace warploom;\n"
                  "extern \"C\" __global__ void " +
                  kernel.name +
                  "(const uint32_t *in, uint32_t *out) {\n"
                  "  [[maybe_unused]] auto *shared = "
                  "reinterpret_cast<uint32_t *>(sharedMemory());\n"
                  "  int i = threadIndex();" +
                  primitive.body + "\n}\n";
  kernel.blockThreads = kThreads;
  kernel.sharedBytes = kWords * 4;
  KernelArgument in, out;
  in.name = "in";
  out.name = "out";
  out.buffer = 1;
  kernel.arguments = {in, out};
  kernel.reads = {0};
  kernel.writes = {1};
  program.kernels = {kernel};
  program.arguments = {0};
  program.results = {{"out", 1, program.buffers[1].dims}};
  return program;
}

// What the kernel leaves in out[], which holds zeros before.
inline llvm::Expected<std::vector<uint32_t>> runPrimitive(Device &device, const Program &program,
                                                          llvm::ArrayRef<CompiledKernel> compiled,
                                                          std::vector<uint32_t> in) {
  llvm::Expected<std::unique_ptr<Executable>> executable = device.load(program, {}, compiled);
  if (!executable)
    return executable.takeError();
  std::vector<uint32_t> out(kWords, 0);
  auto bytes = [](std::vector<uint32_t> &words) {
    return llvm::MutableArrayRef<std::byte>(reinterpret_cast<std::byte *>(words.data()),
                                            words.size() * 4);
  };
  void *inAddress = llvm::cantFail(device.allocate(kWords * 4));
  void *outAddress = llvm::cantFail(device.allocate(kWords * 4));
  llvm::cantFail(device.write(inAddress, bytes(in)));
  llvm::cantFail(device.write(outAddress, bytes(out)));
  llvm::cantFail((*executable)->bind(0, inAddress));
  llvm::cantFail((*executable)->bind(1, outAddress));
  if (llvm::Error error = (*executable)->launch())
    return error;
  if (llvm::Error error = (*executable)->synchronize())
    return error;
  llvm::cantFail(device.read(bytes(out), outAddress));
  executable->reset();
  device.release(inAddress);
  device.release(outAddress);
  return out;
}

} // namespace warploom::testing
