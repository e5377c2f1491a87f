#include "solvers/interpolation.hpp"

#include <cstddef>

#include "device/gpu_backend.hpp"
#include "device/upload.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

void interpolate(const InterpolationCall& call, device::Stream& stream) {
  if constexpr (device::has_gpu_backend) {
    if (stream.on_gpu()) return interpolate_on_gpu(call, stream);
  }
  interpolate_on_host(call, stream);
}

std::vector<float> transposed(const std::vector<float>& matrix, std::size_t rows) {
  const std::size_t columns = matrix.size() / rows;
  std::vector<float> result(matrix.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

int nodes_of(const Level<float>& level) { return level.space().order() + 1; }

}  // namespace

std::vector<double> interpolation_matrix(const sem::Gll& from, const sem::Gll& to) {
  std::vector<double> matrix;
  for (const double x : to.points) {
    for (std::size_t j = 0; j < from.points.size(); ++j) {
      double value = 1;
      for (std::size_t m = 0; m < from.points.size(); ++m) {
        if (m != j) value *= (x - from.points[m]) / (from.points[j] - from.points[m]);
      }
      matrix.push_back(value);
    }
  }
  return matrix;
}

Interpolation::Interpolation(Level<float>& coarse, Level<float>& fine, const Context& context,
                             const Observation& observation)
    : coarse_(coarse),
      fine_(fine),
      observation_(observation),
      interpolate_step_(step_name(fine.space().order(), "interpolation")),
      restrict_step_(step_name(fine.space().order(), "restriction")) {
  const auto exact = interpolation_matrix(coarse.space().mesh().gll(), fine.space().mesh().gll());
  const std::vector<float> up(exact.begin(), exact.end());
  up_ = device::upload(up, context.allocate, context.stream);
  down_ = device::upload(transposed(up, static_cast<std::size_t>(nodes_of(fine))), context.allocate, context.stream);
}

/// One element writes the value of a node that several have, which is the same in all of them: sums of shares would be
/// rounded differently on ranks with different numbers of these elements.
void Interpolation::interpolate_to_fine(const float* coarse, float* fine, device::Stream& stream) {
  const InterpolationCall call{.elements = {0, fine_.space().mesh().elements()},
                               .from = nodes_of(coarse_),
                               .to = nodes_of(fine_),
                               .matrix = up_.as<float>(),
                               .input = coarse,
                               .output = fine,
                               .input_unknowns = coarse_.space().unknowns(),
                               .output_unknowns = fine_.space().writers()};
  observed(observation_.observer, interpolate_step_, stream, [&] { interpolate(call, stream); });
}

void Interpolation::restrict_to_coarse(const float* fine, float* coarse, device::Stream& stream) {
  const std::size_t added_from = coarse_.added_from();
  stream.fill(coarse + added_from, 0, (coarse_.length() - added_from) * sizeof(float));
  coarse_.assemble(restrict_step_, coarse, stream, [&](sem::ElementRange range) {
    interpolate({.elements = range,
                 .from = nodes_of(fine_),
                 .to = nodes_of(coarse_),
                 .matrix = down_.as<float>(),
                 .input = fine,
                 .output = coarse,
                 .input_unknowns = fine_.space().unknowns(),
                 .output_unknowns = coarse_.space().unknowns(),
                 .input_weights = fine_.space().weights()},
                stream);
  });
}

}  // namespace commlens::solvers
