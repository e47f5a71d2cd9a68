// warploom-fuzz: random graphs through the passes, the code generator and a device, each compared
// with the interpreter. Prints the seeds first; a failure is printed as the text of the smallest
// graph that still fails, and the exit code is 3.
//
//   warploom-fuzz --seed 1 --count 5000 [--device sim|cuda] [--batch 64] [--no-shrink]
#include "api/session.h"
#include "ir/print.h"
#include "ir/program/error.h"
#include "ir/verify.h"
#include "runtime/device.h"
#include "tests/fuzz/envelope.h"
#include "tests/fuzz/random_graph.h"
#include "tests/fuzz/shrink.h"
#include "tools/random_inputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/ThreadPool.h"

#include <cmath>
#include <random>

using namespace warploom;
using namespace warploom::fuzz;

namespace {

namespace cl = llvm::cl;
enum class Where { sim, cuda };
cl::opt<uint64_t> firstSeed("seed", cl::desc("Seed of the first graph"), cl::init(1));
cl::opt<unsigned> count("count", cl::desc("Number of graphs"), cl::init(100));
cl::opt<unsigned> batchSize("batch", cl::desc("Graphs compiled together"), cl::init(64));
cl::opt<bool> noShrink("no-shrink", cl::desc("Print failing graphs as they are"));
cl::opt<bool> printGraphs("print", cl::desc("Print every graph"));
cl::opt<Where> where("device", cl::desc("Where kernels run"), cl::init(Where::sim),
                     cl::values(clEnumValN(Where::sim, "sim", "the simulator"),
                                clEnumValN(Where::cuda, "cuda", "the first GPU")));

// Samples of an envelope; a mismatch is looked at again with the larger number.
constexpr unsigned kSamples = 8, kSamplesWhenInDoubt = 200;

// A graph with its arguments, and the compilation if that went well.
struct Subject {
  uint64_t seed = 0;
  Graph graph{"fuzz"};
  SymbolBindings symbols;
  std::vector<Tensor> arguments;
  std::optional<Envelope> envelope;
  std::optional<Compilation> compilation;
  std::string failure; // empty: none so far
};

// Whether an attention reads it: a weight of 0 times infinity is NaN in some schedules only.
bool isAttended(const Graph &graph, Value argument) {
  return llvm::any_of(Uses(graph).of(argument),
                      [](const Node *user) { return user->op == Op::attention; });
}

// Puts special values into some arguments: NaN, infinities, -0, the largest and smallest integers.
void season(const Graph &graph, std::vector<Tensor> &arguments, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const auto &[argument, tensor] : llvm::zip(graph.arguments(), arguments)) {
    if (random() % 8 != 0 || tensor.elementCount() == 0 || isAttended(graph, argument.value))
      continue;
    WideTensor wide = widen(tensor);
    for (unsigned places = 1 + random() % 4; places > 0; --places) {
      size_t index = random() % wide.elementCount();
      constexpr double kReals[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e4, -3.0};
      constexpr int64_t kIntegers[] = {0, -1, INT32_MAX, INT32_MIN, 255, 1000};
      if (!wide.reals.empty())
        wide.reals[index] = kReals[random() % std::size(kReals)];
      else
        wide.integers[index] = kIntegers[random() % std::size(kIntegers)];
    }
    if (wide.dtype != DType::i1)
      tensor = narrow(wide);
  }
}

// Elements that share memory, by strides of 0, have one value.
void overlay(const TensorType &type, Tensor &tensor) {
  if (!type.strides || tensor.elementCount() == 0)
    return;
  unsigned size = byteSize(type.dtype);
  int64_t inner = tensor.elementCount();
  for (unsigned axis = 0; axis < type.rank(); ++axis) {
    int64_t block = inner;
    inner /= tensor.dims[axis];
    if ((*type.strides)[axis].isConstant() && (*type.strides)[axis] == 0)
      for (int64_t at = 0; at < tensor.elementCount(); at += inner)
        std::memmove(tensor.bytes.data() + at * size,
                     tensor.bytes.data() + at / block * block * size, inner * size);
  }
}

std::vector<Tensor> argumentsFor(const Graph &graph, const SymbolBindings &symbols, uint64_t seed) {
  std::vector<Tensor> arguments = llvm::cantFail(randomInputs(graph, symbols, seed));
  season(graph, arguments, seed);
  for (const auto &[argument, tensor] : llvm::zip(graph.arguments(), arguments))
    overlay(argument.value.type(), tensor);
  return arguments;
}

Graph opened(const Graph &graph) {
  Graph copy = graph.clone();
  Target target = llvm::cantFail(Target::fromArch("sm_90a"));
  FusionPolicy policy;
  std::vector<Remark> remarks;
  runPasses(copy, {findPass("decompose")}, {target, policy, remarks},
            [](const PassReport &, const Graph &) {});
  return copy;
}

std::string compareAll(const Subject &subject, llvm::ArrayRef<WideTensor> tensors) {
  for (const auto &[which, tensor] : llvm::enumerate(tensors))
    if (std::string text = subject.envelope->violation(which, tensor); !text.empty())
      return which < subject.graph.results().size()
                 ? subject.graph.results()[which].name + ": " + text
                 : "argument " + std::to_string(which - subject.graph.results().size()) + ": " +
                       text;
  return "";
}

std::string interpretAndCompare(const Subject &subject, const Graph &graph) {
  InterpretOptions options;
  options.threads = 1;
  llvm::Expected<Interpretation> run =
      interpret(graph, subject.arguments, subject.symbols, options);
  if (!run)
    return llvm::toString(run.takeError());
  std::vector<WideTensor> tensors = std::move(run->results);
  llvm::move(run->mutated, std::back_inserter(tensors));
  return compareAll(subject, tensors);
}

// Through the passes, each compared, and the code generator.
void compileSubject(Subject &subject, unsigned samples) {
  llvm::PrettyStackTraceFormat trace("graph of seed %llu", (unsigned long long)subject.seed);
  subject.envelope.emplace(subject.graph, opened(subject.graph), subject.arguments, subject.symbols,
                           samples);
  if (std::string text = interpretAndCompare(subject, subject.graph); !text.empty()) {
    subject.failure = "decompose changes the meaning: " + text;
    return;
  }
  CompileOptions options;
  options.compileKernels = where == Where::cuda;
  options.settings.threads = 1;
  options.settings.useCache = false;
  options.afterPass = [&](const PassReport &report, const Graph &graph) {
    if (!subject.failure.empty() || report.rewrites == 0)
      return;
    if (std::string text = interpretAndCompare(subject, graph); !text.empty())
      subject.failure = report.name.str() + " changes the meaning: " + text;
  };
  llvm::Expected<Compilation> compiled = compile(subject.graph, options);
  if (!compiled)
    subject.failure = "does not compile: " + llvm::toString(compiled.takeError());
  else
    subject.compilation = std::move(*compiled);
}

void runSubject(Device &device, Subject &subject) {
  llvm::PrettyStackTraceFormat trace("graph of seed %llu", (unsigned long long)subject.seed);
  llvm::Expected<Session> session = Session::create(device, *subject.compilation, subject.symbols);
  if (!session) {
    subject.failure = "does not load: " + llvm::toString(session.takeError());
    return;
  }
  for (unsigned run = 0; run < 2 && subject.failure.empty(); ++run) {
    llvm::Expected<RunResult> ran = session->run(subject.arguments);
    if (!ran) {
      subject.failure = "does not run: " + llvm::toString(ran.takeError());
      return;
    }
    std::vector<WideTensor> tensors;
    for (const Tensor &tensor : ran->results)
      tensors.push_back(widen(tensor));
    for (const auto &[argument, tensor] : llvm::zip(subject.graph.arguments(), ran->mutated))
      tensors.push_back(argument.isMutable ? widen(tensor) : WideTensor());
    subject.failure = compareAll(subject, tensors);
  }
}

llvm::Expected<std::unique_ptr<Device>> openDevice(llvm::ArrayRef<const Program *> ahead) {
  if (where == Where::cuda)
    return openCudaDevice();
  SimulatorSettings settings;
  settings.seed = firstSeed;
  settings.useCache = false;
  settings.ahead = ahead.vec();
  return openSimulator(settings);
}

// The whole way of one graph, with the larger number of samples.
std::string failureOf(const Graph &graph, const SymbolBindings &symbols, uint64_t seed) {
  Subject subject;
  subject.seed = seed;
  subject.graph = graph.clone();
  subject.symbols = symbols;
  if (llvm::Error error = verify(graph)) {
    llvm::consumeError(std::move(error));
    return "";
  }
  subject.arguments = argumentsFor(graph, symbols, seed);
  compileSubject(subject, kSamplesWhenInDoubt);
  if (!subject.failure.empty())
    return subject.failure;
  std::unique_ptr<Device> device = llvm::cantFail(openDevice({}));
  runSubject(*device, subject);
  return subject.failure;
}

// Prints a failure that stands up to a second look. Returns whether it did.
bool report(const Subject &subject) {
  std::string failure = failureOf(subject.graph, subject.symbols, subject.seed);
  if (failure.empty())
    return false;
  llvm::outs() << "seed " << subject.seed << ": " << failure << "\n";
  llvm::StringRef kind = llvm::StringRef(failure).take_while([](char c) { return c != ':'; });
  Graph smallest =
      noShrink ? subject.graph.clone() : shrink(subject.graph.clone(), [&](const Graph &graph) {
        std::string again = failureOf(graph, subject.symbols, subject.seed);
        // Results are renumbered, so a wrong value is a wrong value wherever it stands.
        bool isValue = kind.starts_with("result") || kind.starts_with("argument");
        return isValue ? llvm::StringRef(again).starts_with("result") ||
                             llvm::StringRef(again).starts_with("argument")
                       : llvm::StringRef(again).starts_with(kind);
      });
  llvm::outs() << print(smallest);
  for (const auto &symbol : subject.symbols)
    llvm::outs() << "// " << symbol.first() << " = " << symbol.second << "\n";
  llvm::outs() << "// " << failureOf(smallest, subject.symbols, subject.seed) << "\n";
  llvm::outs().flush();
  return true;
}

unsigned runBatch(uint64_t first, unsigned size) {
  std::vector<Subject> subjects(size);
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (const auto &[index, subject] : llvm::enumerate(subjects)) {
    subject.seed = first + index;
    RandomGraph random = randomGraph(subject.seed);
    subject.graph = std::move(random.graph);
    subject.symbols = random.symbols;
    if (printGraphs)
      llvm::outs() << "// seed " << subject.seed << "\n" << print(subject.graph);
    subject.arguments = argumentsFor(subject.graph, subject.symbols, subject.seed);
    pool.async([&subject] { compileSubject(subject, kSamples); });
  }
  pool.wait();
  std::vector<const Program *> programs;
  for (const Subject &subject : subjects)
    if (subject.failure.empty())
      programs.push_back(&subject.compilation->program);
  llvm::Expected<std::unique_ptr<Device>> device = openDevice(programs);
  if (!device) {
    // One of them does not compile for the host: each alone says which.
    llvm::consumeError(device.takeError());
    device = llvm::cantFail(openDevice({}));
  }
  unsigned failures = 0;
  for (Subject &subject : subjects) {
    if (subject.failure.empty())
      runSubject(**device, subject);
    if (!subject.failure.empty())
      failures += report(subject);
  }
  return failures;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Differential fuzzing of the compiler\n");
  llvm::outs() << "seeds " << firstSeed << " to " << firstSeed + count - 1 << "\n";
  llvm::outs().flush();
  if (llvm::Expected<std::unique_ptr<Device>> device = openDevice({}); !device) {
    llvm::errs() << "error: " << llvm::toString(device.takeError()) << "\n";
    return 4;
  }
  unsigned failures = 0;
  for (unsigned done = 0; done < count; done += batchSize)
    failures += runBatch(firstSeed + done, std::min<unsigned>(batchSize, count - done));
  llvm::outs() << count << " graphs, " << failures << " failures\n";
  return failures == 0 ? 0 : 3;
}
