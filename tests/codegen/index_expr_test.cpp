#include "codegen/index_expr.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

using namespace warploom;

namespace {

IndexExpr variable(const char *name, std::optional<int64_t> extent = std::nullopt,
                   int64_t multiple = 1) {
  return IndexExpr::variable(name, extent, multiple);
}

TEST(IndexExpr, FoldsConstants) {
  EXPECT_EQ((IndexExpr(3) * IndexExpr(4) + IndexExpr(5)).str(), "17");
  EXPECT_EQ(floorDiv(17, 5).str(), "3");
  EXPECT_EQ(mod(17, 5).str(), "2");
}

TEST(IndexExpr, CollectsEqualTerms) {
  IndexExpr x = variable("x"), y = variable("y");
  EXPECT_EQ((x * IndexExpr(2) + y + x).str(), "x * 3 + y");
  EXPECT_EQ((x - x).str(), "0");
  EXPECT_EQ((x * y).str(), (y * x).str());
}

TEST(IndexExpr, TakesMultiplesOutOfAQuotient) {
  IndexExpr a = variable("a"), r = variable("r", 7);
  EXPECT_EQ(floorDiv(a * IndexExpr(7) + r, 7).str(), "a");
  EXPECT_EQ(mod(a * IndexExpr(7) + r, 7).str(), "r");
}

TEST(IndexExpr, KeepsAQuotientWhoseRestMayCarry) {
  IndexExpr a = variable("a"), r = variable("r", 8);
  EXPECT_EQ(floorDiv(a * IndexExpr(7) + r, 7).str(), "(r / 7) + a");
}

TEST(IndexExpr, LeavesTheLaneOutOfADivision) {
  IndexExpr lane = variable("lane", 8);
  IndexExpr chunk = variable("chunk", 100) * IndexExpr(8) + lane;
  EXPECT_EQ(mod(chunk, 64).str(), "(chunk % 8) * 8 + lane");
  EXPECT_EQ(floorDiv(chunk, 64).str(), "(chunk / 8)");
  IndexExpr column = variable("column", 800, 8) + lane;
  EXPECT_EQ(mod(column, 64).str(), "(column % 64) + lane");
  EXPECT_EQ(floorDiv(column, 64).str(), "(column / 64)");
  EXPECT_TRUE(mod(column, 64).without("lane").isMultipleOf(8));
}

TEST(IndexExpr, PutsTogetherWhatWasTakenApart) {
  IndexExpr position = variable("p", 24 * 5) + IndexExpr(0);
  std::vector<IndexExpr> extents = {4, 5, 6};
  EXPECT_EQ(linearize(delinearize(position, extents), extents).str(), "p");
  std::vector<IndexExpr> symbolic = {variable("batch"), 5, 6};
  EXPECT_EQ(linearize(delinearize(position, symbolic), symbolic).str(), "p");
}

TEST(IndexExpr, TakesApartWhatWasPutTogether) {
  Index index = {variable("i", 4), variable("j", 5), variable("k", 6)};
  std::vector<IndexExpr> extents = {4, 5, 6};
  Index back = delinearize(linearize(index, extents), extents);
  for (unsigned axis = 0; axis < 3; ++axis)
    EXPECT_EQ(back[axis].str(), index[axis].str());
}

TEST(IndexExpr, SurvivesDimsOfExtentZero) {
  Index index = delinearize(variable("p", 0), {3, 0, 5});
  for (const IndexExpr &place : index)
    EXPECT_EQ(place.str(), "0");
}

TEST(IndexExpr, KnowsTheCoefficientOfAVariable) {
  IndexExpr x = variable("x"), stride = variable("stride"), y = variable("y", 10);
  EXPECT_EQ((x * IndexExpr(3) + y).coefficientOf("x")->str(), "3");
  EXPECT_EQ((x * stride + y).coefficientOf("x")->str(), "stride");
  EXPECT_EQ(y.coefficientOf("x")->str(), "0");
  EXPECT_FALSE(mod(x, 5).coefficientOf("x"));
  EXPECT_FALSE((x * x).coefficientOf("x"));
}

TEST(IndexExpr, HasOnlyOneValueBelowItsExtent) {
  EXPECT_EQ(variable("x", 1).str(), "0");
  EXPECT_EQ(variable("x", 8, 8).str(), "0");
}

// A quotient must not lose what makes a difference non-negative.
TEST(IndexExpr, DividesDifferencesAsTheyAre) {
  IndexExpr x = variable("x"), y = variable("y", 8);
  EXPECT_EQ(floorDiv(x * IndexExpr(8) - y, 8).str(), "((x * 8 - y) / 8)");
}

// The C text of an expression, evaluated with C's rules.
class CText {
public:
  CText(const std::string &text, const std::map<std::string, int64_t> &values)
      : at_(text.c_str()), values_(values) {}
  int64_t value() { return sum(); }

private:
  void skip() {
    while (*at_ == ' ')
      ++at_;
  }
  int64_t sum() {
    int64_t result = product();
    for (skip(); *at_ == '+' || *at_ == '-'; skip())
      result = *at_++ == '+' ? result + product() : result - product();
    return result;
  }
  int64_t product() {
    int64_t result = atom();
    for (skip(); *at_ == '*' || *at_ == '/' || *at_ == '%'; skip()) {
      char op = *at_++;
      int64_t right = atom();
      result = op == '*' ? result * right : op == '/' ? result / right : result % right;
    }
    return result;
  }
  int64_t atom() {
    skip();
    if (*at_ == '-') {
      ++at_;
      return -atom();
    }
    if (*at_ == '(') {
      ++at_;
      int64_t result = sum();
      skip();
      ++at_;
      return result;
    }
    std::string word;
    while (isalnum(*at_))
      word += *at_++;
    return isdigit(word[0]) ? std::stoll(word) : values_.at(word);
  }

  const char *at_;
  const std::map<std::string, int64_t> &values_;
};

// Random expressions against the same arithmetic on numbers.
TEST(IndexExpr, MeansWhatPlainArithmeticMeans) {
  std::mt19937_64 random(7);
  auto below = [&](int64_t bound) { return int64_t(random() % bound); };
  for (int trial = 0; trial < 3000; ++trial) {
    std::map<std::string, int64_t> values;
    std::vector<std::pair<IndexExpr, int64_t>> pool;
    for (const char *name : {"a", "b", "c"}) {
      int64_t multiple = below(3) == 0 ? 4 : 1, extent = multiple * (1 + below(9));
      bool isKnown = below(3) != 0;
      values[name] = below(extent / multiple) * multiple;
      pool.push_back(
          {variable(name, isKnown ? std::optional(extent) : std::nullopt, multiple), values[name]});
    }
    for (int step = 0; step < 8; ++step) {
      auto [x, xValue] = pool[below(pool.size())];
      auto [y, yValue] = pool[below(pool.size())];
      int64_t number = 1 + below(12);
      switch (below(6)) {
      case 0:
        pool.push_back({x + y, xValue + yValue});
        break;
      case 1:
        pool.push_back({x * IndexExpr(number), xValue * number});
        break;
      case 2:
        pool.push_back({floorDiv(x, number), xValue / number});
        break;
      case 3:
        pool.push_back({mod(x, number), xValue % number});
        break;
      case 4:
        pool.push_back({x + IndexExpr(number), xValue + number});
        break;
      default:
        // Divided expressions are non-negative wherever they are evaluated.
        pool.push_back({x * IndexExpr(12) + IndexExpr(number) - mod(y, number),
                        xValue * 12 + number - yValue % number});
      }
      ASSERT_EQ(CText(pool.back().first.str(), values).value(), pool.back().second)
          << pool.back().first.str() << " in trial " << trial;
      for (int64_t divisor : {2, 4, 8})
        ASSERT_TRUE(!pool.back().first.isMultipleOf(divisor) || pool.back().second % divisor == 0)
            << pool.back().first.str();
      ASSERT_LE(pool.back().second, pool.back().first.maximum().value_or(INT64_MAX))
          << pool.back().first.str();
    }
  }
}

} // namespace
