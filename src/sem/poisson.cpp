#include "sem/poisson.hpp"

#include <cstring>
#include <vector>

#include "device/launch.hpp"
#include "sem/gll.hpp"
#include "sem/poisson_kernel.hpp"
#include "sem/trilinear.hpp"

namespace commlens::sem {

namespace {

constexpr std::size_t metric_terms = 6;

std::size_t cube(std::size_t n) { return n * n * n; }

template <class T>
device::Buffer upload(const std::vector<T>& values, const Allocate& allocate, device::Stream& stream) {
  device::Buffer buffer = allocate(values.size() * sizeof(T));
  stream.copy(buffer.data(), values.data(), buffer.bytes());
  stream.wait();  // the values may go
  return buffer;
}

/// The six distinct terms of G of every node: [element][term][node].
void write_metric(const Gll& gll, const Trilinear* maps, std::size_t elements, const double* points_and_weights,
                  double* metric, device::Stream& stream) {
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
        const Cofactors cofactors = ColumnOfMap(maps[element], points[i], points[j]).at(points[k]);
        const double scale = weights[i] * weights[j] * weights[k] / cofactors.jacobian;
        std::size_t term = 0;
        for (int a = 0; a < 3; ++a) {
          for (int b = a; b < 3; ++b) {
            double product = 0;
            for (int axis = 0; axis < 3; ++axis) product += cofactors.row[a][axis] * cofactors.row[b][axis];
            metric[(metric_terms * element + term) * nodes + node] = scale * product;
            ++term;
          }
        }
      });
}

class PoissonOf final : public Poisson {
 public:
  PoissonOf(const Mesh& mesh, const Numbering& numbering, Geometry geometry, Storage storage, bool on_gpu,
            const Allocate& allocate, device::Stream& stream)
      : gll_(gll(mesh.shape().order)), on_gpu_(on_gpu), scratch_(allocate(device::sum_scratch_bytes)) {
    stream.fill(scratch_.data(), 0, scratch_.bytes());
    std::vector<Trilinear> maps(mesh.elements());
    for (std::size_t element = 0; element < maps.size(); ++element) maps[element] = trilinear(mesh.vertices(element));
    maps_ = upload(maps, allocate, stream);
    if (storage == Storage::unique) unknowns_ = upload(numbering.of_node, allocate, stream);
    if (geometry != Geometry::stored) return;
    std::vector<double> points_and_weights = gll_.points;
    points_and_weights.insert(points_and_weights.end(), gll_.weights.begin(), gll_.weights.end());
    const device::Buffer basis = upload(points_and_weights, allocate, stream);
    metric_ = allocate(metric_terms * mesh.nodes() * sizeof(double));
    write_metric(gll_, maps_.as<Trilinear>(), mesh.elements(), basis.as<double>(), metric_.as<double>(), stream);
    stream.wait();
  }

  void apply(ElementRange elements, const double* input, double* output, double* energy, bool add_energy,
             device::Stream& stream) override {
    const PoissonCall call{.elements = elements,
                           .input = input,
                           .output = output,
                           .energy = energy,
                           .add_energy = add_energy,
                           .scratch = scratch_.data(),
                           .unknowns = unknowns_.as<std::uint32_t>(),
                           .maps = maps_.as<Trilinear>(),
                           .metric = metric_.as<double>()};
    if (on_gpu_) return apply_on_gpu(gll_, call, stream);
    apply_on_host(gll_, call, stream);
  }

 private:
  Gll gll_;
  bool on_gpu_;
  device::Buffer scratch_;
  device::Buffer maps_;
  device::Buffer unknowns_;
  device::Buffer metric_;
};

}  // namespace

Trilinear trilinear(const std::array<Point, 8>& vertices) {
  Trilinear map;
  for (int axis = 0; axis < 3; ++axis) {
    for (int term = 0; term < 8; ++term) {
      // The terms 1, r, s, t, rs, rt, st, rst by the directions that are in them, as bits.
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

std::unique_ptr<Poisson> make_poisson(const Mesh& mesh, const Numbering& numbering, Geometry geometry, Storage storage,
                                      device::Memory memory, const Allocate& allocate, device::Stream& stream) {
  return std::make_unique<PoissonOf>(mesh, numbering, geometry, storage, device::on_gpu(memory), allocate, stream);
}

double poisson_bytes(std::size_t elements, int order, Geometry geometry, Storage storage) {
  const auto nodes = static_cast<double>(elements) * static_cast<double>(cube(static_cast<std::size_t>(order) + 1));
  return device::sum_scratch_bytes + static_cast<double>(elements) * sizeof(Trilinear) +
         (storage == Storage::unique ? nodes * sizeof(std::uint32_t) : 0) +
         (geometry == Geometry::stored ? nodes * metric_terms * sizeof(double) + 64 * sizeof(double) : 0);
}

}  // namespace commlens::sem
