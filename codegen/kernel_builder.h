// The frame of one emitted kernel: its parameters, its text, and what it reads and writes.
#pragma once

#include "codegen/buffers.h"
#include "codegen/emitter.h"
#include "codegen/functions.h"
#include "codegen/index_expr.h"
#include "ir/group.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace warploom {

// What every group's emission needs.
struct KernelContext {
  const Graph &graph;
  const Target &target;
  BufferTable &buffers;
  FunctionTable &functions;
};

// The C++ type that stores a dtype on the device ("bf16", "float", "int8_t", "bool").
llvm::StringRef storageType(DType dtype);
// The C++ type it is computed in ("float" for the small floating types).
llvm::StringRef computeType(DType dtype);

class KernelBuilder {
public:
  KernelBuilder(const KernelContext &context, const Group &group);

  const KernelContext &context() const { return context_; }
  const Group &group() const { return group_; }
  Emitter &body() { return *bodies_.back(); }
  // Between the two, body() is a new text; closeBody() gives it back for splicing, when what stands
  // in front of it is known.
  void openBody() { bodies_.push_back(std::make_unique<Emitter>(names_)); }
  std::unique_ptr<Emitter> closeBody();
  Names &names() { return names_; }

  // The parameter that points to the first element of the buffer that stores a value: an argument,
  // an updated mutable argument (any value of its chain of updates), or another group's result.
  std::string reads(Value stored);
  std::string writes(Value stored);
  // The same for scratch space that BufferTable::scratch() made; T is the pointed-to type.
  std::string scratch(unsigned buffer, llvm::StringRef type);

  // A size as emitted code sees it: a number, or a parameter that the bind evaluates.
  IndexExpr size(const SizeExpr &expr);
  IndexExpr size(const Dim &dim);
  std::vector<IndexExpr> sizes(llvm::ArrayRef<Dim> dims);

  // The type of index variables: int where every buffer of the kernel has fewer than 2^31 elements,
  // else int64_t.
  llvm::StringRef indexType() const { return indexType_; }

  // `#include "header"`, once each.
  void include(llvm::StringRef header);
  // Text in front of the kernel, such as a functor.
  Emitter &prelude() { return prelude_; }

  // The kernel: names it, writes the comment with the group's IR, the signature and the body, or
  // takes an equal one's.
  Kernel finish(std::array<SizeExpr, 3> grid, unsigned blockThreads, unsigned sharedBytes,
                unsigned minBlocksPerMultiprocessor = 1);

private:
  struct Parameter {
    std::string declaration;
    KernelArgument argument;
  };
  std::string pointer(unsigned buffer, llvm::StringRef type, bool isConst, llvm::StringRef base);

  const KernelContext &context_;
  const Group &group_;
  Names names_;
  Emitter prelude_;
  std::vector<std::unique_ptr<Emitter>> bodies_;
  llvm::StringRef indexType_ = "int";
  std::vector<Parameter> parameters_;
  llvm::DenseMap<unsigned, std::string> nameOfBuffer_;
  llvm::DenseMap<unsigned, unsigned> parameterOfBuffer_;
  llvm::StringMap<std::string> parameterOfSize_;
  llvm::SmallVector<std::string, 3> includes_;
  llvm::SmallVector<unsigned, 8> reads_;
  llvm::SmallVector<unsigned, 4> writes_;
};

} // namespace warploom
