// The eigenvectors of an extended element's 1-D problem, against assembly by hand and dense solves.
#include "solvers/fast_diagonalization.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "reference.hpp"

namespace commlens::solvers {
namespace {

using reference::Matrix;

/// 0 stands for a missing neighbor.
constexpr Lengths all_lengths[] = {{0.4, 0.3, 0.7}, {0, 0.3, 0.7}, {0.4, 0.3, 0}, {0, 1.3, 0}};

std::string describe(int order, const Lengths& lengths) {
  return "order " + std::to_string(order) + ", lengths " + std::to_string(lengths.before) + " " +
         std::to_string(lengths.element) + " " + std::to_string(lengths.after);
}

struct Problem1d {
  Matrix stiffness;
  Vector mass;
};

/// Of three elements in a row, cut to the middle one and one node on either side.
Problem1d by_hand(const sem::Gll& gll, const Lengths& lengths) {
  const std::size_t order = gll.points.size() - 1;
  const double sizes[3] = {lengths.before, lengths.element, lengths.after};
  Matrix stiffness(3 * order + 1);
  Vector mass(3 * order + 1);
  for (std::size_t element = 0; element < 3; ++element) {
    if (sizes[element] == 0) continue;
    for (std::size_t point = 0; point <= order; ++point) {
      mass[element * order + point] += gll.weights[point] * sizes[element] / 2;
      for (std::size_t i = 0; i <= order; ++i) {
        for (std::size_t j = 0; j <= order; ++j) {
          const double derivatives = gll.derivative[point * (order + 1) + i] * gll.derivative[point * (order + 1) + j];
          stiffness.at(element * order + i, element * order + j) +=
              gll.weights[point] * derivatives * 2 / sizes[element];
        }
      }
    }
  }
  const std::size_t n = order + 3;
  Problem1d result{.stiffness = Matrix(n), .mass = Vector(n)};
  const auto is_unknown = [&](std::size_t i) {
    return (lengths.before > 0 || i > 1) && (lengths.after > 0 || i + 2 < n);
  };
  for (std::size_t i = 0; i < n; ++i) {
    result.mass[i] = is_unknown(i) ? mass[order - 1 + i] : 1;
    for (std::size_t j = 0; j < n; ++j) {
      const bool coupled = is_unknown(i) && is_unknown(j);
      result.stiffness.at(i, j) = coupled ? stiffness.at(order - 1 + i, order - 1 + j) : (i == j ? 1 : 0);
    }
  }
  return result;
}

TEST(FastDiagonalization, HasTheMatricesOfThreeElementsInARow) {
  for (const int order : {2, 3, 4, 7}) {
    const sem::Gll gll = sem::gll(order);
    for (const Lengths& lengths : all_lengths) {
      const Problem1d expected = by_hand(gll, lengths);
      const Matrices matrices = matrices_of(gll, lengths);
      reference::expect_equal(matrices.stiffness, expected.stiffness.values, 1e-13, describe(order, lengths));
      reference::expect_equal(matrices.mass, expected.mass, 1e-14, describe(order, lengths));
    }
  }
}

TEST(FastDiagonalization, DiagonalizesBothMatrices) {
  for (const int order : {2, 3, 4, 7, 15}) {
    const sem::Gll gll = sem::gll(order);
    for (const Lengths& lengths : all_lengths) {
      const Problem1d problem = by_hand(gll, lengths);
      const OneDimensional eigen = one_dimensional(gll, lengths);
      const std::size_t n = problem.mass.size();
      ASSERT_EQ(eigen.values.size(), n);
      ASSERT_EQ(eigen.vectors.size(), n * n);
      const auto s = [&](std::size_t node, std::size_t q) { return eigen.vectors[node * n + q]; };
      for (std::size_t q = 0; q < n; ++q) {
        EXPECT_GT(eigen.values[q], 0) << describe(order, lengths);
        for (std::size_t p = 0; p < n; ++p) {
          double of_mass = 0;
          double of_stiffness = 0;
          for (std::size_t i = 0; i < n; ++i) {
            of_mass += s(i, q) * problem.mass[i] * s(i, p);
            for (std::size_t j = 0; j < n; ++j) of_stiffness += s(i, q) * problem.stiffness.at(i, j) * s(j, p);
          }
          const double scale = *std::max_element(eigen.values.begin(), eigen.values.end());
          ASSERT_NEAR(of_mass, q == p ? 1 : 0, 1e-12) << describe(order, lengths);
          ASSERT_NEAR(of_stiffness, q == p ? eigen.values[q] : 0, 1e-12 * scale) << describe(order, lengths);
        }
      }
    }
  }
}

/// output[x] = sum over m of matrix[m][x] input[m], or with its transpose, in one direction of a box of n^3 nodes.
Vector multiply(const OneDimensional& eigen, bool transposed, std::size_t axis, const Vector& input) {
  const std::size_t n = eigen.values.size();
  const std::size_t stride = axis == 0 ? 1 : (axis == 1 ? n : n * n);
  Vector result(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::size_t x = i / stride % n;
    for (std::size_t m = 0; m < n; ++m) {
      const double factor = transposed ? eigen.vectors[x * n + m] : eigen.vectors[m * n + x];
      result[i] += factor * input[i + m * stride - x * stride];
    }
  }
  return result;
}

TEST(FastDiagonalization, SolvesTheTensorProductProblem) {
  const Lengths by_axis[][3] = {{all_lengths[0], all_lengths[1], all_lengths[2]},
                                {all_lengths[3], all_lengths[0], all_lengths[1]},
                                {all_lengths[2], all_lengths[3], all_lengths[3]}};
  for (const int order : {2, 3}) {
    const sem::Gll gll = sem::gll(order);
    for (const auto& lengths : by_axis) {
      const std::size_t n = gll.points.size() + 2;
      std::vector<Problem1d> problems;
      std::vector<OneDimensional> eigen;
      for (const Lengths& of_axis : lengths) {
        problems.push_back(by_hand(gll, of_axis));
        eigen.push_back(one_dimensional(gll, of_axis));
      }
      Matrix matrix(n * n * n);
      Vector b(n * n * n);
      for (std::size_t row = 0; row < matrix.n; ++row) {
        const std::size_t i[3] = {row % n, row / n % n, row / (n * n)};
        b[row] = static_cast<double>((row * 7 + 3) % 11) - 5;
        for (std::size_t column = 0; column < matrix.n; ++column) {
          const std::size_t j[3] = {column % n, column / n % n, column / (n * n)};
          for (std::size_t axis = 0; axis < 3; ++axis) {
            double value = problems[axis].stiffness.at(i[axis], j[axis]);
            for (const std::size_t other : {(axis + 1) % 3, (axis + 2) % 3}) {
              value *= i[other] == j[other] ? problems[other].mass[i[other]] : 0;
            }
            matrix.at(row, column) += value;
          }
        }
      }
      Vector x = b;
      for (std::size_t axis = 0; axis < 3; ++axis) x = multiply(eigen[axis], false, axis, x);
      for (std::size_t q = 0; q < x.size(); ++q) {
        x[q] /= eigen[0].values[q % n] + eigen[1].values[q / n % n] + eigen[2].values[q / (n * n)];
      }
      for (std::size_t axis = 0; axis < 3; ++axis) x = multiply(eigen[axis], true, axis, x);
      reference::expect_equal(x, reference::solve(matrix, b), 1e-12, "order " + std::to_string(order));
    }
  }
}

}  // namespace
}  // namespace commlens::solvers
