#include "sem/gll.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>

namespace commlens::sem {
namespace {

class Orders : public testing::TestWithParam<int> {
 protected:
  const Gll gll_ = gll(GetParam());
};

TEST_P(Orders, ReachFromEndToEndInOrder) {
  ASSERT_EQ(gll_.points.size(), static_cast<std::size_t>(GetParam()) + 1);
  EXPECT_EQ(gll_.points.front(), -1);
  EXPECT_EQ(gll_.points.back(), 1);
  for (std::size_t i = 1; i < gll_.points.size(); ++i) EXPECT_LT(gll_.points[i - 1], gll_.points[i]);
  for (std::size_t i = 0; i < gll_.points.size(); ++i) {
    EXPECT_EQ(gll_.points[i], -gll_.points[gll_.points.size() - 1 - i]) << "symmetric to the last bit";
  }
}

TEST_P(Orders, IntegratePolynomialsOfDegree2NMinus1ExactlyAndNoMore) {
  const int highest = 2 * GetParam() - 1;
  const auto integral = [&](int degree) {
    double sum = 0;
    for (std::size_t i = 0; i < gll_.points.size(); ++i) sum += gll_.weights[i] * std::pow(gll_.points[i], degree);
    return sum;
  };
  for (int degree = 0; degree <= highest; ++degree) {
    EXPECT_NEAR(integral(degree), degree % 2 == 0 ? 2.0 / (degree + 1) : 0.0, 2e-15) << degree;
  }
  const int beyond = highest + 1;
  EXPECT_GT(integral(beyond) - 2.0 / (beyond + 1), 1e-9);
}

TEST_P(Orders, DerivePolynomialsOfDegreeN) {
  const std::size_t count = gll_.points.size();
  for (int degree = 0; degree <= GetParam(); ++degree) {
    for (std::size_t i = 0; i < count; ++i) {
      double derived = 0;
      for (std::size_t j = 0; j < count; ++j) {
        derived += gll_.derivative[i * count + j] * std::pow(gll_.points[j], degree);
      }
      const double right = degree == 0 ? 0 : degree * std::pow(gll_.points[i], degree - 1);
      EXPECT_NEAR(derived, right, 1e-12) << "x^" << degree << " at point " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Orders, testing::Range(1, highest_order + 1));

TEST(Gll, Order3IsKnown) {
  const Gll cubic = gll(3);
  EXPECT_NEAR(cubic.points[1], -1 / std::sqrt(5.0), 1e-16);
  EXPECT_NEAR(cubic.weights[0], 1.0 / 6, 1e-16);
  EXPECT_NEAR(cubic.weights[1], 5.0 / 6, 2e-16);
}

TEST(Gll, OtherOrdersAreRefused) {
  EXPECT_THROW(gll(0), std::invalid_argument);
  EXPECT_THROW(gll(-1), std::invalid_argument);
  EXPECT_THROW(gll(highest_order + 1), std::invalid_argument);
}

}  // namespace
}  // namespace commlens::sem
