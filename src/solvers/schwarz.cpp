#include "solvers/schwarz.hpp"

#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/error.hpp"
#include "device/gpu_backend.hpp"
#include "device/upload.hpp"
#include "solvers/fast_diagonalization.hpp"
#include "solvers/kernels.hpp"

namespace commlens::solvers {

namespace {

using sem::Extents;
using sem::Numbering;

/// Finds the place of a node of the whole mesh in this rank's vectors.
class Places {
 public:
  explicit Places(const sem::FunctionSpace& space) : space_(space), shape_(space.mesh().shape()) {
    const sem::Mesh& mesh = space.mesh();
    for (std::size_t element = 0; element < mesh.elements(); ++element) elements_[key(mesh.place(element))] = element;
  }

  /// Node `node` (by its coordinates in the lattice) of the element at `place`.
  std::uint32_t of(const Extents& place, const Extents& node) {
    const auto order = static_cast<std::size_t>(shape_.order);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (node[axis] == 0 || node[axis] == shape_.elements[axis] * order) return Numbering::fixed;
    }
    if (const auto element = elements_.find(key(place)); element != elements_.end()) {
      const std::size_t n = order + 1;
      const auto inside = [&](std::size_t axis) { return node[axis] - place[axis] * order; };
      const std::size_t index = inside(0) + n * (inside(1) + n * inside(2));
      return space_.numbering().of_node[element->second * n * n * n + index] & ~Numbering::by_several;
    }
    const auto next = static_cast<std::uint32_t>(space_.length() + ghost_ids_.size());
    const std::int64_t id = sem::id_of(shape_, node);
    const auto [ghost, is_new] = ghosts_.try_emplace(id, next);
    if (is_new) ghost_ids_.push_back(id);
    return ghost->second;
  }

  [[nodiscard]] const std::vector<std::int64_t>& ghost_ids() const { return ghost_ids_; }

 private:
  [[nodiscard]] std::size_t key(const Extents& place) const {
    return place[0] + shape_.elements[0] * (place[1] + shape_.elements[1] * place[2]);
  }

  const sem::FunctionSpace& space_;
  const sem::Shape& shape_;
  std::unordered_map<std::size_t, std::size_t> elements_;
  std::unordered_map<std::int64_t, std::uint32_t> ghosts_;
  std::vector<std::int64_t> ghost_ids_;
};

/// The element beyond a face; nothing at the boundary of the domain.
std::optional<Extents> beyond(Extents place, std::size_t axis, bool upper, const Extents& elements) {
  if (upper ? place[axis] + 1 == elements[axis] : place[axis] == 0) return std::nullopt;
  place[axis] += upper ? 1 : std::size_t(-1);
  return place;
}

/// Its neighbors' first interior nodes beyond one face.
void add_face(const sem::Mesh& mesh, std::size_t element, std::size_t axis, bool upper, Places& places,
              std::vector<std::uint32_t>& neighbors) {
  const auto order = static_cast<std::size_t>(mesh.shape().order);
  const Extents& place = mesh.place(element);
  const auto neighbor = beyond(place, axis, upper, mesh.shape().elements);
  const std::size_t first = axis == 0 ? 1 : 0;
  const std::size_t second = axis == 2 ? 1 : 2;
  for (std::size_t b = 0; b <= order; ++b) {
    for (std::size_t a = 0; a <= order; ++a) {
      if (!neighbor) {
        neighbors.push_back(Numbering::fixed);
        continue;
      }
      Extents node{};
      node[axis] = upper ? (place[axis] + 1) * order + 1 : place[axis] * order - 1;
      node[first] = place[first] * order + a;
      node[second] = place[second] * order + b;
      neighbors.push_back(places.of(*neighbor, node));
    }
  }
}

/// Of a vector with ghosts: ids of the unknowns that this rank owns, and of its ghosts; 0 for all others.
std::vector<std::int64_t> ids_of(const sem::FunctionSpace& space, const std::vector<std::int64_t>& ghost_ids) {
  const Numbering& numbering = space.numbering();
  const auto ids = space.mesh().ids();
  std::vector<std::int64_t> result(space.length());
  numbering.for_each_unknown([&](std::size_t node, std::uint32_t unknown) {
    if (unknown < numbering.owned) result[unknown] = ids[node];
  });
  result.insert(result.end(), ghost_ids.begin(), ghost_ids.end());
  return result;
}

/// The mean distance between opposite nodes of the element's two faces in a direction.
double mean_length(const sem::Vertices& vertices, const std::vector<double>& points, std::size_t axis) {
  double sum = 0;
  for (const double a : points) {
    for (const double b : points) {
      sem::Point low{a, a, a};
      low[(axis + 1) % 3] = b;
      sem::Point high = low;
      low[axis] = -1;
      high[axis] = 1;
      const sem::Point from = sem::interpolate(vertices, low);
      const sem::Point to = sem::interpolate(vertices, high);
      sum += std::hypot(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
    }
  }
  return sum / static_cast<double>(points.size() * points.size());
}

Lengths lengths_of(const sem::Mesh& mesh, const Extents& place, std::size_t axis) {
  const auto length = [&](const Extents& of) {
    return mean_length(sem::vertices_of(mesh.shape(), of), mesh.gll().points, axis);
  };
  Lengths lengths{.element = length(place)};
  Extents neighbor = place;
  if (place[axis] > 0) {
    neighbor[axis] = place[axis] - 1;
    lengths.before = length(neighbor);
  }
  if (place[axis] + 1 < mesh.shape().elements[axis]) {
    neighbor[axis] = place[axis] + 1;
    lengths.after = length(neighbor);
  }
  return lengths;
}

/// Of all elements, as EigenLayout.
std::vector<float> eigen_of(const sem::Mesh& mesh) {
  const std::size_t n = mesh.gll().points.size() + 2;
  const std::size_t row = EigenLayout::row(n);
  std::vector<float> eigen(EigenLayout::element(n) * mesh.elements());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto problem = one_dimensional(mesh.gll(), lengths_of(mesh, mesh.place(element), axis));
      float* const matrix = eigen.data() + element * EigenLayout::element(n) + axis * EigenLayout::matrix(n);
      float* const values = eigen.data() + element * EigenLayout::element(n) + 3 * EigenLayout::matrix(n) + axis * row;
      for (std::size_t node = 0; node < n; ++node) {
        for (std::size_t q = 0; q < n; ++q) {
          matrix[node * row + q] = static_cast<float>(problem.vectors[node * n + q]);
        }
        values[node] = static_cast<float>(problem.values[node]);
      }
    }
  }
  return eigen;
}

}  // namespace

Extension extend(const sem::FunctionSpace& space, const transport::Communicator& communicator) {
  const sem::Mesh& mesh = space.mesh();
  Places places(space);
  Extension extension;
  const std::size_t n = mesh.gll().points.size();
  extension.neighbors.reserve(6 * n * n * mesh.elements());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (const bool upper : {false, true}) add_face(mesh, element, axis, upper, places, extension.neighbors);
    }
  }
  extension.ghosts = places.ghost_ids().size();
  extension.sharing = gather_scatter::discover(ids_of(space, places.ghost_ids()), communicator);
  return extension;
}

Schwarz::Schwarz(Level<float>& level, const LevelOptions& options, const Context& context,
                 const Observation& observation)
    : level_(level),
      observation_(observation),
      step_(step_name(level.space().order(), "smoother")),
      exchange_step_(step_name(level.space().order(), "exchange f32")),
      extension_(extend(level.space(), context.communicator)),
      neighbors_(device::upload(extension_.neighbors, context.allocate, context.stream)),
      eigen_(device::upload(eigen_of(level.space().mesh()), context.allocate, context.stream)) {
  if (context.communicator.size() == 1) return;
  const device::Buffer scratch = context.allocate(extension_.sharing.nodes * sizeof(float));
  context.stream.fill(scratch.data(), 0, scratch.bytes());
  const gather_scatter::ValueKind kind{.type = DataType::f32, .exchange_type = DataType::f32};
  fetch_ = gather_scatter::select(options.method, gather_scatter::make_lists(extension_.sharing, context),
                                  scratch.data(), extension_.sharing, kind, context);
  if (!fetch_.operation) throw Error("the gather-scatter is not supported: " + fetch_.unsupported);
  context.stream.wait();
}

double Schwarz::traffic(double elements, int order) {
  const auto n = static_cast<std::size_t>(order) + 3;
  const auto faces = static_cast<double>(6 * (n - 2) * (n - 2) * sizeof(std::uint32_t));
  return elements * (static_cast<double>(EigenLayout::element(n) * sizeof(float)) + faces);
}

double Schwarz::upper_bytes(double elements, int order) { return traffic(elements, order) + 16 * 1024; }

void Schwarz::fetch_ghosts(float* input, device::Stream& stream) {
  if (!fetch_.operation) return;
  observed(observation_.observer, exchange_step_, stream, [&] {
    stream.fill(input + level_.length(), 0, ghosts() * sizeof(float));
    fetch_.operation->apply(input, stream);
  });
}

void Schwarz::apply_to_zero(float* input, float* output, device::Stream& stream) {
  fetch_ghosts(input, stream);
  level_.assemble(step_, output, stream, [&](sem::ElementRange range) {
    const SchwarzCall call{.elements = range,
                           .input = input,
                           .output = output,
                           .unknowns = level_.space().unknowns(),
                           .neighbors = neighbors_.as<std::uint32_t>(),
                           .eigen = eigen_.as<float>(),
                           .weights = level_.space().weights()};
    const int order = level_.space().order();
    if constexpr (device::has_gpu_backend) {
      if (stream.on_gpu()) return schwarz_on_gpu(order, call, stream);
    }
    schwarz_on_host(order, call, stream);
  });
}

}  // namespace commlens::solvers
