#include "benchmarks/spectral_elements/vector_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "benchmarks/spectral_elements/reference_operator.hpp"
#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "device/upload.hpp"

namespace commlens {

namespace {

/// By node: how many elements of all ranks have it, from its place in the lattice; 0 on the boundary of the domain.
std::vector<double> multiplicities(const sem::Mesh& mesh) {
  const auto ids = mesh.ids();
  const auto order = static_cast<std::int64_t>(mesh.shape().order);
  std::array<std::int64_t, 3> last{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    last[axis] = static_cast<std::int64_t>(mesh.shape().elements[axis]) * order;
  }
  std::vector<double> result(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    std::int64_t rest = ids[node] - 1;
    double product = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t at = rest % (last[axis] + 1);
      rest /= last[axis] + 1;
      product *= at == 0 || at == last[axis] ? 0 : at % order == 0 ? 2 : 1;
    }
    result[node] = product;
  }
  return result;
}

/// By node of the element; 0 for what is no unknown.
std::vector<double> values_of_element(const std::vector<double>& x, std::size_t element, const VectorLayout& layout) {
  std::vector<double> values(layout.mesh.nodes_per_element());
  for (std::size_t node = 0; node < values.size(); ++node) {
    const std::size_t at = element * values.size() + node;
    values[node] = layout.is_unknown(at) ? x[layout.place(at)] : 0.0;
  }
  return values;
}

/// Elsewhere, neighbors contribute.
bool is_inside(std::size_t node, std::size_t n) {
  const std::array<std::size_t, 3> at{node % n, node / n % n, node / (n * n)};
  return std::all_of(at.begin(), at.end(), [&](std::size_t i) { return i > 0 && i + 1 < n; });
}

std::string wrong_in_element(std::size_t element, const std::vector<double>& x, const std::vector<double>& image,
                             const VectorLayout& layout, double tolerance) {
  const sem::Mesh& mesh = layout.mesh;
  const auto expected = apply_to_element(mesh.gll(), mesh.vertices(element), values_of_element(x, element, layout));
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (!is_inside(node, mesh.gll().points.size())) continue;
    const double value = image[layout.place(element * expected.size() + node)];
    if (std::abs(value - expected[node]) <= tolerance * largest) continue;
    return fmt::format("A x is {:.17g} at node {} of element {}, expected {:.17g}", value, node, element,
                       expected[node]);
  }
  return {};
}

}  // namespace

std::string wrong_multiplicity(const std::vector<double>& found, const VectorLayout& layout) {
  const auto expected = multiplicities(layout.mesh);
  for (std::size_t node = 0; node < expected.size(); ++node) {
    if (!layout.is_unknown(node)) continue;
    const double value = found[layout.place(node)];
    if (value == expected[node]) continue;
    return fmt::format("the gather-scatter of ones gives {:.17g} at node {}, which {:.17g} elements have", value, node,
                       expected[node]);
  }
  return {};
}

double error_of(const std::vector<double>& x, const VectorLayout& layout) {
  const auto points = layout.mesh.points();
  double largest = 0;
  for (std::size_t node = 0; node < points.size(); ++node) {
    if (!layout.is_unknown(node)) continue;
    largest = std::max(largest, std::abs(x[layout.place(node)] - manufactured_solution(points[node])));
  }
  return largest;
}

/// The first element, the last, and some between.
std::string wrong_element(const std::vector<double>& x, const std::vector<double>& image, const VectorLayout& layout,
                          double tolerance) {
  constexpr std::size_t most = 12;
  const std::size_t elements = layout.mesh.elements();
  const std::size_t samples = std::min(most, elements);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t element = sample * (elements - 1) / std::max<std::size_t>(1, samples - 1);
    if (std::string error = wrong_in_element(element, x, image, layout, tolerance); !error.empty()) return error;
  }
  return {};
}

Inspection inspect(const double* x, const double* image, const VectorLayout& layout, device::Stream& stream,
                   const transport::Communicator& communicator) {
  constexpr double rounding = 1e-10;
  const auto solution = device::download(x, layout.length(), stream);
  const auto product = device::download(image, layout.length(), stream);
  return {.error = wrong_element(solution, product, layout, rounding),
          .largest_error = communicator.maximum(error_of(solution, layout))};
}

}  // namespace commlens
