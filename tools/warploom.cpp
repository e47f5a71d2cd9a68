// warploom: compiles a layer and shows every stage, or runs it and checks the result.
#include "api/compile.h"
#include "api/session.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/program/error.h"
#include "tools/emit.h"
#include "tools/random_inputs.h"
#include "tools/report.h"
#include "tools/safetensors.h"
#include "tools/verify_run.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace warploom;
namespace cl = llvm::cl;

namespace {

// What the process returns; the README lists them.
enum ExitCode { done = 0, wrongInput = 1, wrongCommandLine = 2, notVerified = 3, deviceFailed = 4 };

int fail(ExitCode code, llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  // A diagnostic of the parser says "error:" itself.
  bool saysSo = llvm::StringRef(message).contains(": error: ");
  llvm::errs() << (saysSo ? "" : "error: ") << message << "\n";
  return code;
}

cl::SubCommand compileCommand("compile", "Compile a layer and show it at any stage.");
cl::SubCommand runCommand("run", "Run a layer on random or given inputs.");

#define WARPLOOM_BOTH cl::sub(compileCommand), cl::sub(runCommand)
cl::opt<std::string> file(cl::Positional, cl::Required, cl::desc("<F.loom or ->"), WARPLOOM_BOTH);
cl::opt<std::string> arch("arch", cl::init("sm_90a"), cl::desc("architecture to compile for"),
                          WARPLOOM_BOTH);
cl::list<std::string> binds("bind", cl::CommaSeparated, cl::desc("values of symbols: batch=8,..."),
                            WARPLOOM_BOTH);
enum class ReportForm { none, text, json };
cl::opt<ReportForm> report("report", cl::desc("report passes, kernels, remarks and times"),
                           cl::ValueOptional, cl::init(ReportForm::none),
                           cl::values(clEnumValN(ReportForm::text, "", "as text"),
                                      clEnumValN(ReportForm::text, "text", "as text"),
                                      clEnumValN(ReportForm::json, "json", "as JSON")),
                           WARPLOOM_BOTH);
cl::opt<std::string> cacheDirectory("cache-dir", cl::desc("directory of compiled kernels"),
                                    WARPLOOM_BOTH);
cl::opt<bool> noCache("no-cache", cl::desc("compile every kernel anew"), WARPLOOM_BOTH);

cl::opt<EmitForm> form("emit", cl::desc("what to write"), cl::init(EmitForm::cuda),
                       cl::values(clEnumValN(EmitForm::loom, "loom", "the graph after the passes"),
                                  clEnumValN(EmitForm::groups, "groups", "with fused groups"),
                                  clEnumValN(EmitForm::program, "program", "kernels and buffers"),
                                  clEnumValN(EmitForm::cuda, "cuda", "the CUDA source (default)"),
                                  clEnumValN(EmitForm::ptx, "ptx", "NVRTC's PTX"),
                                  clEnumValN(EmitForm::cubin, "cubin", "the cubin of one kernel"),
                                  clEnumValN(EmitForm::dot, "dot", "the launch graph for Graphviz"),
                                  clEnumValN(EmitForm::svg, "svg", "drawn by Graphviz"),
                                  clEnumValN(EmitForm::json, "json", "the program as JSON")),
                       cl::sub(compileCommand));
cl::opt<std::string> output("o", cl::init("-"), cl::desc("file to write, - for standard output"),
                            cl::sub(compileCommand));
cl::opt<std::string> printAfter("print-after", cl::desc("print the graph after a pass, or 'all'"),
                                cl::sub(compileCommand));
cl::opt<bool> check("check", cl::desc("verify the program and write nothing"),
                    cl::sub(compileCommand));

enum class DeviceKind { automatic, cuda, sim };
cl::opt<DeviceKind> deviceKind("device", cl::desc("where to run"), cl::init(DeviceKind::automatic),
                               cl::values(clEnumValN(DeviceKind::automatic, "auto",
                                                     "the GPU if there is one (default)"),
                                          clEnumValN(DeviceKind::cuda, "cuda", "the GPU"),
                                          clEnumValN(DeviceKind::sim, "sim", "the simulator")),
                               cl::sub(runCommand));
cl::opt<std::string> inputs("inputs", cl::desc("safetensors file with the arguments"),
                            cl::sub(runCommand));
cl::opt<std::string> outputs("outputs", cl::desc("safetensors file for the results"),
                             cl::sub(runCommand));
cl::opt<uint64_t> seed("seed", cl::init(1), cl::desc("of random inputs and of the simulator"),
                       cl::sub(runCommand));
cl::opt<bool> verifyResults("verify", cl::desc("compare with the interpreter"),
                            cl::sub(runCommand));
cl::opt<bool> taps("taps", cl::desc("keep every stored temporary: compare and write it too"),
                   cl::sub(runCommand));

llvm::Expected<Graph> readGraph() {
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(file);
  if (!text)
    return makeError("cannot read '{0}': {1}", file.getValue(), text.getError().message());
  llvm::Expected<Module> module = parseModule((*text)->getBuffer(), file);
  if (!module)
    return module.takeError();
  return std::move(module->graphs.front());
}

llvm::Expected<SymbolBindings> readBindings() {
  SymbolBindings symbols;
  for (llvm::StringRef bind : binds) {
    auto [name, value] = bind.split('=');
    int64_t number;
    if (name.empty() || value.getAsInteger(10, number) || number < 0)
      return makeError("--bind takes NAME=SIZE, not '{0}'", bind);
    symbols[name] = number;
  }
  return symbols;
}

CompileOptions optionsFromFlags() {
  CompileOptions options;
  options.arch = arch;
  options.settings.useCache = !noCache;
  options.settings.cacheDirectory = cacheDirectory;
  return options;
}

void warn(llvm::ArrayRef<std::string> warnings) {
  for (llvm::StringRef warning : warnings)
    llvm::errs() << "warning: " << warning << "\n";
}

void printReport(const Compilation &compilation) {
  if (report == ReportForm::text)
    llvm::errs() << reportText(compilation);
  else if (report == ReportForm::json)
    llvm::errs() << llvm::formatv("{0:2}\n", reportJson(compilation));
}

int compileMain() {
  if (!printAfter.empty() && printAfter != "all" && !findPass(printAfter)) {
    auto names = llvm::map_range(pipeline(), [](const Pass &pass) { return pass.name; });
    return fail(wrongCommandLine, makeError("there is no pass '{0}'; the passes are {1}",
                                            printAfter.getValue(), llvm::join(names, ", ")));
  }
  if (llvm::Expected<Target> target = Target::fromArch(arch); !target)
    return fail(wrongCommandLine, target.takeError());
  llvm::Expected<Graph> graph = readGraph();
  if (!graph)
    return fail(wrongInput, graph.takeError());
  CompileOptions options = optionsFromFlags();
  bool needsKernels = form == EmitForm::ptx || form == EmitForm::cubin || form == EmitForm::json ||
                      report != ReportForm::none;
  options.compileKernels = needsKernels && !check;
  options.afterPass = [](const PassReport &pass, const Graph &after) {
    if (printAfter == "all" || printAfter == pass.name)
      llvm::errs() << "// after " << pass.name << "\n" << print(after);
  };
  llvm::Expected<Compilation> compilation = compile(*graph, options);
  if (!compilation)
    return fail(options.compileKernels ? deviceFailed : wrongInput, compilation.takeError());
  warn(compilation->warnings);
  printReport(*compilation);
  if (check) {
    llvm::outs() << compilation->program.kernels.size() << " kernels, verified\n";
    return done;
  }
  llvm::Expected<std::string> text = emit(*compilation, form);
  if (!text)
    return fail(wrongInput, text.takeError());
  if (llvm::Error error = writeText(output, *text))
    return fail(wrongInput, std::move(error));
  return done;
}

// The arguments of the graph from a file, by name.
llvm::Expected<std::vector<Tensor>> readInputs(const Graph &graph, SymbolBindings &symbols) {
  llvm::Expected<NamedTensors> named = readSafetensors(inputs);
  if (!named)
    return named.takeError();
  std::vector<Tensor> tensors;
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes;
  for (const GraphArgument &argument : graph.arguments()) {
    auto found = llvm::find_if(
        *named, [&](const auto &entry) { return entry.first == argument.value.name(); });
    if (found == named->end())
      return makeError("'{0}' has no tensor for the argument '{1}'", inputs.getValue(),
                       argument.value.name());
    if (found->second.dtype != argument.value.type().dtype)
      return makeError("'{0}': the argument '{1}' is {2}, not {3}", inputs.getValue(),
                       argument.value.name(), argument.value.type().str(),
                       spelling(found->second.dtype));
    tensors.push_back(std::move(found->second));
    named->erase(found);
  }
  if (!named->empty())
    return makeError("'{0}' has a tensor '{1}', which is no argument of @{2}", inputs.getValue(),
                     named->front().first, graph.name());
  for (const Tensor &tensor : tensors)
    shapes.push_back(tensor.dims);
  if (llvm::Error error = bindSymbols(graph, shapes, symbols))
    return makeError("'{0}': {1}", inputs.getValue(), llvm::toString(std::move(error)));
  return tensors;
}

llvm::Expected<std::unique_ptr<Device>> openDevice(std::vector<std::string> &warnings) {
  SimulatorSettings settings;
  settings.seed = seed;
  settings.useCache = !noCache;
  settings.cacheDirectory = cacheDirectory;
  settings.warnings = &warnings;
  if (deviceKind == DeviceKind::sim)
    return openSimulator(settings);
  llvm::Expected<std::unique_ptr<Device>> gpu = openCudaDevice();
  if (gpu || deviceKind == DeviceKind::cuda)
    return gpu;
  llvm::consumeError(gpu.takeError());
  return openSimulator(settings);
}

bool printComparisons(llvm::ArrayRef<Comparison> comparisons) {
  bool passed = true;
  for (const Comparison &comparison : comparisons) {
    passed &= comparison.passed();
    llvm::outs() << llvm::formatv("{0,-24} relative L2 {1:e2}, maximum {2:e2}, bound {3:e2}  {4}\n",
                                  comparison.name, comparison.difference.relativeL2,
                                  comparison.difference.relativeMax, comparison.bound,
                                  comparison.passed() ? "ok" : "FAILED");
  }
  return passed;
}

llvm::Error writeOutputs(const Graph &graph, const RunResult &run, const NamedTensors &tapped) {
  NamedTensors tensors;
  for (const auto &[result, tensor] : llvm::zip(graph.results(), run.results))
    tensors.emplace_back(result.name, tensor);
  auto isNew = [&](llvm::StringRef name) {
    return llvm::none_of(tensors, [&](const auto &entry) { return entry.first == name; });
  };
  for (const auto &[argument, tensor] : llvm::zip(graph.arguments(), run.mutated))
    if (argument.isMutable && isNew(argument.value.name()))
      tensors.emplace_back(argument.value.name(), tensor);
  for (const auto &[name, tensor] : tapped)
    if (isNew(name))
      tensors.emplace_back(name, tensor);
  return writeSafetensors(outputs, tensors);
}

int runMain() {
  llvm::Expected<SymbolBindings> symbols = readBindings();
  if (!symbols)
    return fail(wrongCommandLine, symbols.takeError());
  llvm::Expected<Graph> graph = readGraph();
  if (!graph)
    return fail(wrongInput, graph.takeError());
  llvm::Expected<std::vector<Tensor>> arguments =
      inputs.empty() ? randomInputs(*graph, *symbols, seed) : readInputs(*graph, *symbols);
  if (!arguments)
    return fail(wrongInput, arguments.takeError());
  std::vector<std::string> warnings;
  llvm::Expected<std::unique_ptr<Device>> device = openDevice(warnings);
  if (!device)
    return fail(deviceFailed, device.takeError());
  bool onSimulator = llvm::StringRef((*device)->description()).starts_with("simulator");
  llvm::errs() << "running @" << graph->name() << " on " << (*device)->description() << "\n";

  CompileOptions options = optionsFromFlags();
  options.keepTemporaries = taps;
  options.compileKernels = !onSimulator || report != ReportForm::none;
  llvm::Expected<Compilation> compilation = compile(*graph, options);
  if (!compilation)
    return fail(deviceFailed, compilation.takeError());
  for (const std::string &warning : compilation->warnings)
    if (!llvm::is_contained(warnings, warning))
      warnings.push_back(warning);
  warn(warnings);
  printReport(*compilation);
  llvm::Expected<Session> session = Session::create(**device, *compilation, *symbols);
  if (!session)
    return fail(deviceFailed, session.takeError());
  llvm::Expected<RunResult> run = session->run(*arguments);
  if (!run)
    return fail(deviceFailed, run.takeError());
  NamedTensors tapped;
  if (taps) {
    llvm::Expected<NamedTensors> stored = session->temporaries();
    if (!stored)
      return fail(deviceFailed, stored.takeError());
    tapped = std::move(*stored);
  }
  bool passed = true;
  llvm::StringRef verdict = "ran; --verify compares the results";
  if (verifyResults) {
    llvm::Expected<std::vector<Comparison>> comparisons =
        compareRun(*compilation, *arguments, *symbols, *run, tapped);
    if (!comparisons)
      return fail(wrongInput, comparisons.takeError());
    passed = printComparisons(*comparisons);
    verdict = passed ? "verified" : "NOT VERIFIED";
  }
  llvm::outs() << llvm::formatv("{0} kernels on {1}: {2}\n", compilation->program.kernels.size(),
                                (*device)->description(), verdict);
  if (!outputs.empty())
    if (llvm::Error error = writeOutputs(*graph, *run, tapped))
      return fail(wrongInput, std::move(error));
  return passed ? done : notVerified;
}

} // namespace

int main(int argc, char **argv) {
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (!cl::ParseCommandLineOptions(argc, argv, "Warploom: fused CUDA for transformer layers.\n",
                                   &stream)) {
    llvm::errs() << complaint;
    return wrongCommandLine;
  }
  if (compileCommand)
    return compileMain();
  if (runCommand)
    return runMain();
  llvm::errs() << "error: say what to do: warploom compile F.loom, or warploom run F.loom\n";
  return wrongCommandLine;
}
