// The meaning of each elementwise op, pinned by literal values: interpreter and device share the
// formulas, so only numbers from outside can tell whether they are right.
#include "ir/scalar.h"

#include <gtest/gtest.h>

#include <limits>

using namespace warploom;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// To twelve digits.
void expectValue(double actual, double expected) {
  EXPECT_NEAR(actual, expected, 1e-12 * std::max(1.0, std::abs(expected)));
}

TEST(Scalar, ComputesUnaryOps) {
  expectValue(op_neg(1.5), -1.5);
  expectValue(op_abs(-1.5), 1.5);
  expectValue(op_sign(-2.0), -1);
  expectValue(op_exp(1.0), 2.718281828459045);
  expectValue(op_expm1(1e-10), 1.00000000005e-10);
  expectValue(op_log(10.0), 2.302585092994046);
  expectValue(op_log1p(1e-10), 9.9999999995e-11);
  expectValue(op_sqrt(2.0), 1.4142135623730951);
  expectValue(op_rsqrt(4.0), 0.5);
  expectValue(op_reciprocal(8.0), 0.125);
  expectValue(op_sin(1.0), 0.8414709848078965);
  expectValue(op_cos(1.0), 0.5403023058681398);
  expectValue(op_tanh(0.5), 0.46211715726000973);
  expectValue(op_erf(0.5), 0.5204998778130465);
  expectValue(op_sigmoid(1.0), 0.7310585786300049);
  expectValue(op_silu(2.0), 1.7615941559557649);
  expectValue(op_softplus(1.0), 1.3132616875182228);
  expectValue(op_softplus(30.0), 30.0);
  expectValue(op_relu(-3.0), 0);
  expectValue(op_gelu(1.0), 0.8413447460685429);
  expectValue(op_gelu(-2.3), -0.024665453049854);
  expectValue(op_gelu_tanh(1.0), 0.8411919906082768);
  expectValue(op_floor(-1.5), -2);
  expectValue(op_ceil(-1.5), -1);
  EXPECT_TRUE(op_isnan(kNaN));
  EXPECT_FALSE(op_isnan(1.0));
  EXPECT_TRUE(op_logical_not(false));
}

// Where 1 + erf or 1 + tanh would leave few digits.
TEST(Scalar, KeepsTheDigitsOfGelusTail) {
  EXPECT_NEAR(op_gelu(-6.0) / -5.919525870226207e-09, 1, 1e-12);
  EXPECT_NEAR(op_gelu(-6.0f) / -5.919525870226207e-09, 1, 1e-5);
  EXPECT_NEAR(op_gelu_tanh(-4.0) / -7.024594819237266e-05, 1, 1e-12);
  EXPECT_NEAR(op_gelu_tanh(-4.0f) / -7.024594819237266e-05, 1, 1e-5);
}

TEST(Scalar, RoundsHalvesToEven) {
  EXPECT_EQ(op_round(2.5), 2);
  EXPECT_EQ(op_round(3.5), 4);
  EXPECT_EQ(op_round(-0.5), 0);
  EXPECT_TRUE(std::signbit(op_round(-0.5)));
}

TEST(Scalar, ComputesBinaryOps) {
  expectValue(op_add(1.5, 2.0), 3.5);
  expectValue(op_sub(1.5, 2.0), -0.5);
  expectValue(op_mul(1.5, 2.0), 3);
  expectValue(op_div(1.0, 3.0), 0.3333333333333333);
  expectValue(op_pow(2.0, 0.5), 1.4142135623730951);
  expectValue(op_clamp(5.0, -1.0, 2.0), 2);
  EXPECT_TRUE(op_eq(1, 1));
  EXPECT_TRUE(op_ne(1, 2));
  EXPECT_TRUE(op_lt(1, 2));
  EXPECT_TRUE(op_le(2, 2));
  EXPECT_TRUE(op_gt(2, 1));
  EXPECT_TRUE(op_ge(2, 2));
  EXPECT_TRUE(op_logical_and(true, true));
  EXPECT_TRUE(op_logical_or(false, true));
  EXPECT_TRUE(op_logical_xor(false, true));
}

TEST(Scalar, LetsANaNThroughFromEitherSide) {
  for (double other : {0.0, 1.0, -kInfinity}) {
    EXPECT_TRUE(std::isnan(op_max(kNaN, other)));
    EXPECT_TRUE(std::isnan(op_max(other, kNaN)));
    EXPECT_TRUE(std::isnan(op_min(kNaN, other)));
    EXPECT_TRUE(std::isnan(op_min(other, kNaN)));
  }
  EXPECT_TRUE(std::isnan(op_relu(kNaN)));
  EXPECT_TRUE(std::isnan(op_clamp(kNaN, 0.0, 1.0)));
  EXPECT_TRUE(std::isnan(op_clamp(0.5, kNaN, 1.0)));
}

TEST(Scalar, KeepsTheSignOfZero) {
  EXPECT_TRUE(std::signbit(op_min(-0.0, 0.0)));
  EXPECT_TRUE(std::signbit(op_min(0.0, -0.0)));
  EXPECT_FALSE(std::signbit(op_max(-0.0, 0.0)));
  EXPECT_TRUE(std::signbit(op_max(-0.0, -0.0)));
  EXPECT_EQ(1 / op_add(op_ceil(-0.5), 0.0), kInfinity);
}

TEST(Scalar, DividesIntegersAsPython) {
  struct Case {
    int a, b, floor, remainder, truncated;
  };
  constexpr int kLowest = std::numeric_limits<int>::min();
  for (Case c :
       {Case{7, 3, 2, 1, 2}, Case{-7, 3, -3, 2, -2}, Case{7, -3, -3, -2, -2},
        Case{-7, -3, 2, -1, 2}, Case{6, -3, -2, 0, -2}, Case{1, kLowest, -1, 1 + kLowest, 0},
        Case{5, 0, 0, 0, 0}, Case{kLowest, -1, kLowest, 0, kLowest}}) {
    EXPECT_EQ(op_floor_div(c.a, c.b), c.floor) << c.a << " by " << c.b;
    EXPECT_EQ(op_remainder(c.a, c.b), c.remainder) << c.a << " by " << c.b;
    EXPECT_EQ(op_trunc_div(c.a, c.b), c.truncated) << c.a << " by " << c.b;
  }
  expectValue(op_floor_div(-7.5, 2.0), -4);
  expectValue(op_remainder(-7.5, 2.0), 0.5);
}

TEST(Scalar, WrapsIntegers) {
  EXPECT_EQ(op_add<int32_t>(2147483647, 1), -2147483647 - 1);
  EXPECT_EQ(op_mul<int8_t>(100, 3), 44);
  EXPECT_EQ(op_neg<int32_t>(-2147483647 - 1), -2147483647 - 1);
  EXPECT_EQ(op_abs<int8_t>(-128), -128);
  EXPECT_EQ(op_mul<int64_t>(8, 1500000000), 12000000000);
}

TEST(Scalar, ConvertsEveryHalfThereAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    f16 half{uint16_t(bits)};
    bf16 brain{uint16_t(bits)};
    if (toFloat(half) == toFloat(half)) {
      EXPECT_EQ(fromFloat<f16>(toFloat(half)).bits, bits);
    }
    if (toFloat(brain) == toFloat(brain)) {
      EXPECT_EQ(fromFloat<bf16>(toFloat(brain)).bits, bits);
    }
  }
}

TEST(Scalar, RoundsToSmallFloats) {
  EXPECT_EQ(toFloat(fromFloat<bf16>(1 + 1 / 256.0f)), 1.0f); // a tie goes to even
  EXPECT_EQ(toFloat(fromFloat<bf16>(1 + 3 / 256.0f)), 1 + 4 / 256.0f);
  EXPECT_EQ(toFloat(fromFloat<f16>(65519.0f)), 65504.0f);
  EXPECT_EQ(toFloat(fromFloat<f16>(65520.0f)), float(kInfinity));
  EXPECT_EQ(toFloat(fromFloat<f16>(5.9604645e-8f)), 5.9604645e-8f); // the smallest one
  EXPECT_EQ(toFloat(fromFloat<f16>(2.9e-8f)), 0.0f);
  EXPECT_EQ(toFloat(fromFloat<f8e4m3>(448.0f)), 448.0f);
  EXPECT_NE(toFloat(fromFloat<f8e4m3>(500.0f)), toFloat(fromFloat<f8e4m3>(500.0f))); // NaN
  EXPECT_EQ(toFloat(fromFloat<f8e5m2>(1e6f)), float(kInfinity));
  for (float nan :
       {toFloat(fromFloat<bf16>(float(kNaN))), toFloat(fromFloat<f16>(float(kNaN))),
        toFloat(fromFloat<f8e4m3>(float(kNaN))), toFloat(fromFloat<f8e5m2>(float(kNaN)))})
    EXPECT_NE(nan, nan);
}

TEST(Scalar, ConvertsBetweenKinds) {
  EXPECT_EQ(convert<int32_t>(-1.9f), -1);
  EXPECT_EQ(convert<bool>(0.25f), true);
  EXPECT_EQ(convert<bool>(bf16{0}), false);
  EXPECT_EQ(convert<uint8_t>(300), 44);
  EXPECT_EQ(toFloat(convert<f16>(3)), 3.0f);
}

} // namespace
