// Emits the computation of a group's values at a point of index space, by pulling operands: a
// value's code is its op applied to its operands at the indices it reads them at.
#pragma once

#include "codegen/value_index.h"

#include <functional>
#include <map>

namespace warploom {

// A chunk of a row that begins in front of the row or ends behind it, so that rows of any length
// are read in aligned vectors: lanes outside of the row are neither computed nor touched.
struct CutChunk {
  std::string column;     // of the chunk's first element; below 0 in front of the row
  std::string columns;    // of the row
  std::string isWhole;    // no lane is outside
  IndexExpr alignedStart; // an address of the chunk that is a multiple of its width
  std::string arguments() const { return column + ", " + columns + ", " + isWhole; }
};

class Evaluator {
public:
  explicit Evaluator(KernelBuilder &kernel) : kernel_(kernel) {}

  // Reads of `value` go to this instead: an accumulator, a row's reduction, an output tile. It
  // returns a C++ expression of the value's compute type, which may use the lane only where the
  // index does; it may emit lines to lanes() then, else to beforeLanes().
  using Provider = std::function<std::string(const Index &index)>;
  void provide(Value value, Provider provider) { providers_[value] = std::move(provider); }

  // Opens work on `width` consecutive points, which differ in the variable "lane" alone (0 <= lane
  // < width, known to IndexExpr by laneVariable()). Code until endLanes() goes into one unrolled
  // loop; loads and stores that are contiguous along the lanes become one access around it. Works
  // without a loop where width is 1.
  void beginLanes(unsigned width, std::optional<CutChunk> cut = std::nullopt);
  IndexExpr laneVariable() const { return IndexExpr::variable("lane", width_); }
  void endLanes();

  // The value at an index, as a C++ expression of its compute type; emits what it needs. The
  // group's own nodes are computed; every other stored value is loaded.
  std::string evaluate(Value value, const Index &index);

  // Stores a computed expression to the buffer of an output at an index of its shape; `guard`, if
  // not empty, is a condition that does not depend on the lane.
  void storeAt(Value output, const Index &index, const std::string &expression,
               llvm::StringRef guard = "");
  // evaluate(), then store: for an update in place, the new element goes to its place in the cache,
  // if that lies inside. `index` is then of the new element.
  void evaluateAndStore(Value output, const Index &index, llvm::StringRef guard = "");

  // Where lines of the current point go: inside the lane loop.
  Emitter &lanes() { return *lanes_; }
  // In front of the lane loop.
  Emitter &beforeLanes() { return *before_; }

  // A register array that holds a loaded vector across phases; see codegen/row_phases.h. Called
  // with the stored value, its address without the lane, and the width; returns the name of the Vec
  // to use, or "" to load as usual.
  using Holder = std::function<std::string(Value stored, const IndexExpr &address, unsigned width)>;
  void hold(Holder holder) { holder_ = std::move(holder); }
  // The expression that loads the current chunk from a pointer.
  std::string chunkLoad(const std::string &pointer) const;

private:
  std::string compute(const Node &node, const Index &index);
  std::string computeRope(const Node &node, const Index &index);
  std::string computeCast(const Node &node, const Index &index);
  std::string loadStored(Value stored, const Index &index);
  // Names an expression of the value's compute type, or of another type.
  std::string define(Value value, const Index &index, const std::string &expression);
  std::string define(Value value, llvm::StringRef type, const Index &index,
                     const std::string &expression);
  // Names a computed expression rounded to the value's storage type; returns it widened again.
  std::string defineRounded(Value value, const Index &index, const std::string &expression);
  // Conversions between the two types; what was widened is stored without a conversion.
  std::string widened(DType dtype, const std::string &stored);
  std::string toStorage(DType dtype, const std::string &computed) const;
  bool isOwn(Value value) const;
  bool isUsedAsStored(Value value) const;

  KernelBuilder &kernel_;
  llvm::DenseMap<Value, Provider> providers_;
  Holder holder_;
  bool isAligned(const IndexExpr &start) const;

  unsigned width_ = 1;
  std::optional<CutChunk> cut_;
  std::unique_ptr<Emitter> before_, lanes_, after_;
  std::map<std::string, std::string> memo_;
  llvm::StringMap<std::pair<DType, std::string>> storedForms_; // by the widened expression
};

} // namespace warploom
