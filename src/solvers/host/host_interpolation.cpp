#include <cstddef>
#include <cstdint>
#include <vector>

#include "sem/numbering.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using sem::Numbering;

constexpr std::size_t most = std::size_t{16} * 16 * 16;  // nodes of an element

float weight(const float* weights, std::uint32_t place) { return weights == nullptr ? 1.0F : weights[place]; }

void gather(const InterpolationCall& call, std::size_t element, float* values) {
  const auto nodes = static_cast<std::size_t>(call.from) * call.from * call.from;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint32_t unknown = call.input_unknowns[element * nodes + node];
    const std::uint32_t place = unknown & ~Numbering::by_several;
    values[node] = unknown == Numbering::fixed ? 0.0F : weight(call.input_weights, place) * call.input[place];
  }
}

void scatter(const InterpolationCall& call, std::size_t element, const float* values) {
  const auto nodes = static_cast<std::size_t>(call.to) * call.to * call.to;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint32_t unknown = call.output_unknowns[element * nodes + node];
    if (unknown == Numbering::fixed) continue;
    if (unknown < Numbering::by_several) {
      call.output[unknown] = values[node];
    } else {
      call.output[unknown & ~Numbering::by_several] += values[node];
    }
  }
}

/// output[outer][x][inner] = sum over m of matrix[x][m] input[outer][m][inner], with `to` values of x and `from` of m.
void multiply(const InterpolationCall& call, std::size_t outer, std::size_t inner, const float* input, float* output) {
  const auto to = static_cast<std::size_t>(call.to);
  const auto from = static_cast<std::size_t>(call.from);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t x = 0; x < to; ++x) {
      float* const sums = output + (o * to + x) * inner;
      for (std::size_t i = 0; i < inner; ++i) sums[i] = 0;
      for (std::size_t m = 0; m < from; ++m) {
        const float factor = call.matrix[x * from + m];
        const float* const values = input + (o * from + m) * inner;
        for (std::size_t i = 0; i < inner; ++i) sums[i] += factor * values[i];
      }
    }
  }
}

void interpolate_elements(const InterpolationCall& call) {
  const auto from = static_cast<std::size_t>(call.from);
  const auto to = static_cast<std::size_t>(call.to);
  std::vector<float> a(most);
  std::vector<float> b(most);
  for (std::size_t element = call.elements.first; element < call.elements.last; ++element) {
    gather(call, element, a.data());
    multiply(call, from * from, 1, a.data(), b.data());
    multiply(call, from, to, b.data(), a.data());
    multiply(call, 1, to * to, a.data(), b.data());
    scatter(call, element, b.data());
  }
}

}  // namespace

void interpolate_on_host(const InterpolationCall& call, device::Stream& stream) {
  stream.enqueue([call] { interpolate_elements(call); });
}

}  // namespace commlens::solvers
