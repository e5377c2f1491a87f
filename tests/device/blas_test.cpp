// Matrix products in every memory, compared with explicit sums.
#include "device/blas.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "every_memory.hpp"

namespace commlens::device {
namespace {

using Complex = std::complex<double>;

/// Small integers, so that the product is exact in every type.
Complex number(std::size_t i, std::size_t seed, bool complex) {
  const auto part = [&](std::size_t salt) { return static_cast<double>((i * 7 + seed * 13 + salt) % 9) - 4; };
  return {part(1), complex ? part(5) : 0};
}

template <class Element>
constexpr bool is_complex = !std::is_floating_point_v<Element>;

template <class Element>
Element as(Complex value) {
  if constexpr (is_complex<Element>)
    return Element(value);
  else
    return static_cast<Element>(value.real());
}

/// op(M)[row][column] of a matrix with the leading dimension `ld`.
template <class Element>
Complex element(const std::vector<Element>& matrix, std::size_t ld, Operation operation, std::size_t row,
                std::size_t column) {
  if (operation == Operation::none) return Complex(matrix[row + column * ld]);
  const auto value = Complex(matrix[column + row * ld]);
  return operation == Operation::adjoint ? std::conj(value) : value;
}

class BlasOnEveryMemory : public OnEveryMemory {
 protected:
  void SetUp() override {
    OnEveryMemory::SetUp();
    if (stream) blas = device->blas(GetParam(), 1);
  }

  /// Leading dimensions exceed the number of rows, and the elements between columns must not change.
  template <class Element>
  void check(Gemm gemm, DataType type) {
    constexpr std::size_t gap = 3;
    const auto rows = [](Operation operation, std::size_t stored, std::size_t transposed) {
      return operation == Operation::none ? stored : transposed;
    };
    gemm.type = type;
    gemm.lda = rows(gemm.a_operation, gemm.m, gemm.k) + gap;
    gemm.ldb = rows(gemm.b_operation, gemm.k, gemm.n) + gap;
    gemm.ldc = gemm.m + gap;
    const auto random = [&](std::size_t count, std::size_t seed) {
      std::vector<Element> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = as<Element>(number(i, seed, is_complex<Element>));
      return values;
    };
    const auto a = random(gemm.lda * rows(gemm.a_operation, gemm.k, gemm.m), 1);
    const auto b = random(gemm.ldb * rows(gemm.b_operation, gemm.n, gemm.k), 2);
    auto expected = random(gemm.ldc * gemm.n, 3);
    const auto a_there = uploaded(a);
    const auto b_there = uploaded(b);
    const auto c_there = uploaded(expected);
    gemm.a = a_there.data();
    gemm.b = b_there.data();
    gemm.c = c_there.data();
    for (std::size_t j = 0; j < gemm.n; ++j) {
      for (std::size_t i = 0; i < gemm.m; ++i) {
        Complex sum = gemm.add ? Complex(expected[i + j * gemm.ldc]) : Complex(0);
        for (std::size_t l = 0; l < gemm.k; ++l) {
          sum += element(a, gemm.lda, gemm.a_operation, i, l) * element(b, gemm.ldb, gemm.b_operation, l, j);
        }
        expected[i + j * gemm.ldc] = as<Element>(sum);
      }
    }
    blas->gemm(gemm, *stream);
    EXPECT_EQ(downloaded<Element>(c_there), expected) << name(type) << ", " << gemm.m << " x " << gemm.n << " x "
                                                      << gemm.k << ", add " << gemm.add << ", tune " << gemm.tune;
  }

  void check_every_type(const Gemm& gemm) {
    check<float>(gemm, DataType::f32);
    check<double>(gemm, DataType::f64);
    check<std::complex<float>>(gemm, DataType::c64);
    check<std::complex<double>>(gemm, DataType::c128);
  }

  std::unique_ptr<Blas> blas;
};

TEST_P(BlasOnEveryMemory, EveryOperationOfBothMatrices) {
  for (const auto a : {Operation::none, Operation::transpose, Operation::adjoint}) {
    for (const auto b : {Operation::none, Operation::transpose, Operation::adjoint}) {
      check_every_type({.a_operation = a, .b_operation = b, .m = 5, .n = 7, .k = 11});
    }
  }
}

TEST_P(BlasOnEveryMemory, OddAndEmptyShapesAndTuningGiveTheExactSums) {
  constexpr auto adjoint = Operation::adjoint;
  for (const Gemm& gemm : {
           Gemm{.b_operation = adjoint, .m = 1, .n = 1, .k = 1},
           Gemm{.b_operation = adjoint, .m = 33, .n = 1, .k = 129},
           Gemm{.b_operation = adjoint, .m = 1, .n = 31, .k = 65},
           Gemm{.m = 4, .n = 3, .k = 0},
           Gemm{.m = 4, .n = 3, .k = 0, .add = true},
           Gemm{.m = 0, .n = 3, .k = 2},
           Gemm{.m = 3, .n = 0, .k = 2},
           Gemm{.m = 6, .n = 4, .k = 9, .add = true},
           Gemm{.b_operation = adjoint, .m = 20, .n = 12, .k = 40, .tune = true},
       }) {
    check_every_type(gemm);
  }
}

TEST_P(BlasOnEveryMemory, ComesAfterWhatIsOnTheStreamAlready) {
  const std::vector<double> two{2};
  const auto a = uploaded(std::vector<double>{0});
  const auto c = uploaded(std::vector<double>{0});
  stream->copy(a.data(), two.data(), sizeof(double));
  blas->gemm({.m = 1, .n = 1, .k = 1, .a = a.data(), .lda = 1, .b = a.data(), .ldb = 1, .c = c.data(), .ldc = 1},
             *stream);
  EXPECT_EQ(downloaded<double>(c).front(), 4);
}

TEST_P(BlasOnEveryMemory, RefusesWhatNoLibraryTakes) {
  double numbers[4] = {};
  Gemm gemm{.m = 2, .n = 1, .k = 1, .a = numbers, .lda = 2, .b = numbers, .ldb = 1, .c = numbers, .ldc = 2};
  gemm.type = DataType::i32;
  EXPECT_THROW(blas->gemm(gemm, *stream), Error);
  gemm.type = DataType::f64;
  gemm.lda = std::size_t{1} << 31;
  EXPECT_THROW(blas->gemm(gemm, *stream), Error);
  gemm.lda = 1;
  EXPECT_THROW(blas->gemm(gemm, *stream), std::invalid_argument);
}

TEST_P(BlasOnEveryMemory, TheLibraryHasAName) { EXPECT_FALSE(blas->library().empty()); }

INSTANTIATE_TEST_SUITE_P(Memories, BlasOnEveryMemory, every_memory, name_of);

/// A library that only counts its calls, so that sums of 2^30 terms and more need no memory.
class CountingBlas final : public Blas {
 public:
  [[nodiscard]] std::string library() const override { return "counting"; }
  std::vector<Gemm> calls;

 protected:
  void call(const Gemm& gemm, Stream& /*stream*/) override { calls.push_back(gemm); }
};

TEST(LongSums, AreMadeOfPiecesThatAddUp) {
  CountingBlas blas;
  const auto device = open_host();
  const auto stream = device->stream(Memory::host);
  constexpr std::size_t long_sum = (std::size_t{1} << 31) + 5;
  blas.gemm({.type = DataType::c64,
             .b_operation = Operation::adjoint,
             .m = 2,
             .n = 3,
             .k = long_sum,
             .a = nullptr,
             .lda = 10,
             .b = nullptr,
             .ldb = 10,
             .c = nullptr,
             .ldc = 2},
            *stream);
  ASSERT_EQ(blas.calls.size(), 3U);
  std::size_t terms = 0;
  for (const Gemm& piece : blas.calls) {
    EXPECT_EQ(reinterpret_cast<std::size_t>(piece.a), terms * 10 * 8)
        << "column l of A begins 10 elements after the last";
    EXPECT_EQ(reinterpret_cast<std::size_t>(piece.b), terms * 10 * 8) << "B is transposed: its columns too are terms";
    EXPECT_EQ(piece.add, terms > 0);
    terms += piece.k;
  }
  EXPECT_EQ(terms, long_sum);
}

TEST(Flops, AreTwoATermAndEightForComplexNumbers) {
  EXPECT_EQ(flops_of({.type = DataType::f64, .m = 2, .n = 3, .k = 5}), 60);
  EXPECT_EQ(flops_of({.type = DataType::c64, .m = 2, .n = 3, .k = 5}), 240);
}

}  // namespace
}  // namespace commlens::device
