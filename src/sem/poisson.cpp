#include "sem/poisson.hpp"

#include <cstdint>
#include <vector>

#include "device/gpu_backend.hpp"
#include "device/launch.hpp"
#include "device/upload.hpp"
#include "sem/gll.hpp"
#include "sem/poisson_kernel.hpp"
#include "sem/trilinear.hpp"

namespace commlens::sem {

namespace {

constexpr std::size_t terms = 6;  // of the symmetric matrix of geometric factors

std::size_t cube(std::size_t n) { return n * n * n; }

/// The geometric factors of every node: [element][term][node].
template <class Real>
void write_factors(const Gll& gll, const TrilinearOf<Real>* maps, std::size_t elements,
                   const double* points_and_weights, Real* factors, device::Stream& stream) {
  const std::size_t n = gll.points.size();
  const std::size_t nodes = cube(n);
  const double* points = points_and_weights;
  const double* weights = points_and_weights + n;
  device::launch(
      stream, elements * nodes, COMMLENS_LAMBDA(std::size_t index) {
        const std::size_t element = index / nodes;
        const std::size_t node = index % nodes;
        const std::size_t i = node % n;
        const std::size_t j = node / n % n;
        const std::size_t k = node / (n * n);
        const auto at = [&](std::size_t point) { return static_cast<Real>(points[point]); };
        const Cofactors<Real> cofactors = ColumnOfMap<Real>(maps[element], at(i), at(j)).at(at(k));
        const auto scale = static_cast<Real>(weights[i] * weights[j] * weights[k]) / cofactors.jacobian;
        std::size_t term = 0;
        for (int a = 0; a < 3; ++a) {
          for (int b = a; b < 3; ++b) {
            Real product = 0;
            for (int axis = 0; axis < 3; ++axis) product += cofactors.row[a][axis] * cofactors.row[b][axis];
            factors[(terms * element + term) * nodes + node] = scale * product;
            ++term;
          }
        }
      });
}

/// Coefficients are differences of coordinates: they keep their relative precision in single precision.
template <class Real>
std::vector<TrilinearOf<Real>> maps_of(const Mesh& mesh) {
  std::vector<TrilinearOf<Real>> maps(mesh.elements());
  for (std::size_t element = 0; element < maps.size(); ++element) {
    const Trilinear map = trilinear(mesh.vertices(element));
    for (int term = 0; term < 8; ++term) {
      for (int axis = 0; axis < 3; ++axis) maps[element].c[term][axis] = static_cast<Real>(map.c[term][axis]);
    }
  }
  return maps;
}

template <class Real>
class PoissonOf final : public Poisson<Real> {
 public:
  PoissonOf(const Mesh& mesh, const Numbering& numbering, Geometry geometry, Storage storage, const Context& context)
      : gll_(gll(mesh.shape().order)) {
    device::Stream& stream = context.stream;
    maps_ = device::upload(maps_of<Real>(mesh), context.allocate, stream);
    if (storage == Storage::unique) unknowns_ = device::upload(numbering.of_node, context.allocate, stream);
    if (geometry != Geometry::stored) return;
    std::vector<double> points_and_weights = gll_.points;
    points_and_weights.insert(points_and_weights.end(), gll_.weights.begin(), gll_.weights.end());
    const device::Buffer basis = device::upload(points_and_weights, context.allocate, stream);
    factors_ = context.allocate(terms * mesh.nodes() * sizeof(Real));
    write_factors(gll_, maps_.as<TrilinearOf<Real>>(), mesh.elements(), basis.as<double>(), factors_.as<Real>(),
                  stream);
    stream.wait();
  }

  // NOLINTNEXTLINE(readability-non-const-parameter): kernels write the energy
  void apply(ElementRange elements, const Real* input, Real* output, double* energy, device::Stream& stream) override {
    PoissonCall<Real> call = call_of(elements, input, output);
    call.energy = energy;
    run(call, stream);
  }

  void subtract(ElementRange elements, const Real* input, Real* vector, device::Stream& stream) override {
    PoissonCall<Real> call = call_of(elements, input, vector);
    call.subtract = true;
    run(call, stream);
  }

 private:
  PoissonCall<Real> call_of(ElementRange elements, const Real* input, Real* output) const {
    return {.elements = elements,
            .input = input,
            .output = output,
            .unknowns = unknowns_.as<std::uint32_t>(),
            .maps = maps_.as<TrilinearOf<Real>>(),
            .factors = factors_.as<Real>()};
  }

  void run(const PoissonCall<Real>& call, device::Stream& stream) const {
    if constexpr (device::has_gpu_backend) {
      if (stream.on_gpu()) return apply_on_gpu(gll_, call, stream);
    }
    apply_on_host(gll_, call, stream);
  }

  Gll gll_;
  device::Buffer maps_;
  device::Buffer unknowns_;
  device::Buffer factors_;
};

}  // namespace

Trilinear trilinear(const Vertices& vertices) {
  Trilinear map;
  for (int axis = 0; axis < 3; ++axis) {
    for (int term = 0; term < 8; ++term) {
      // The terms 1, r, s, t, rs, rt, st, rst as bits of the directions that they contain.
      constexpr int directions[8] = {0, 1, 2, 4, 3, 5, 6, 7};
      double sum = 0;
      for (int vertex = 0; vertex < 8; ++vertex) {
        const int below = directions[term] & ~vertex;  // where the vertex is at -1
        const bool negative = ((below & 1) + (below >> 1 & 1) + (below >> 2 & 1)) % 2 == 1;
        const double x = vertices[static_cast<std::size_t>(vertex)][static_cast<std::size_t>(axis)];
        sum += negative ? -x : x;
      }
      map.c[term][axis] = sum / 8;
    }
  }
  return map;
}

template <class Real>
std::unique_ptr<Poisson<Real>> make_poisson(const Mesh& mesh, const Numbering& numbering, Geometry geometry,
                                            Storage storage, const Context& context) {
  return std::make_unique<PoissonOf<Real>>(mesh, numbering, geometry, storage, context);
}

template std::unique_ptr<Poisson<double>> make_poisson(const Mesh&, const Numbering&, Geometry, Storage,
                                                       const Context&);
template std::unique_ptr<Poisson<float>> make_poisson(const Mesh&, const Numbering&, Geometry, Storage, const Context&);

double upper_bytes(const Load& load, Geometry geometry, Storage storage) {
  constexpr double rounding = 16.0 * 1024;  // of the sizes of allocations
  const double unknown = storage == Storage::unique ? sizeof(std::uint32_t) : 0;
  const double factors = geometry == Geometry::stored ? 6 * sizeof(double) : 0;
  return rounding + sizeof(Trilinear) * load.elements + (unknown + factors) * load.nodes;
}

}  // namespace commlens::sem
