#include "fft/distributed_fft.hpp"

#include <algorithm>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "fft/complex.hpp"

namespace commlens::fft {

using device::Direction;

namespace {

std::size_t x_pencils(const Layout& layout) { return layout.second.after(); }
bool is_sphere(const Layout& layout) { return layout.distribution.span == Span::sphere; }

device::FftShape along_z(const Layout& layout, DataType type) {
  const auto [nx, ny, nz] = layout.distribution.grid;
  if (layout.distribution.slabs()) return {type, {ny, nz}, layout.x.count};
  return {type, {nz}, layout.x.count * layout.y.count};
}

device::FftShape along_y(const Layout& layout, DataType type) {
  return {type, {layout.distribution.grid[1]}, layout.x.count * layout.z.count};
}

device::FftShape along_x(const Layout& layout, DataType type) {
  return {type, {layout.distribution.grid[0]}, layout.rows.size()};
}

Members members(const Context& context, const ProcessGrid* grid, int axis, bool cached) {
  return {.all = context.transport, .grid = grid, .axis = axis, .cached = cached};
}

/// Whole rays to coefficients inside the sphere (forward), or back (backward).
template <class Real>
void move_coefficients(device::Direction direction, Complex<Real>* rays, Complex<Real>* inside, const Ray* rows,
                       device::Box box, device::Stream& stream) {
  const bool forward = direction == Direction::forward;
  const std::size_t nx = box[2];
  device::launch(
      stream, box, COMMLENS_LAMBDA(std::size_t, std::size_t row, std::size_t x) {
        const std::ptrdiff_t in_x = frequency(x, nx);
        const bool is_inside = rows[row].holds(in_x);
        Complex<Real>& on_ray = rays[row * nx + x];
        if (!is_inside) {
          if (!forward) on_ray = {0, 0};
        } else if (forward) {
          inside[rows[row].at(in_x)] = on_ray;
        } else {
          on_ray = inside[rows[row].at(in_x)];
        }
      });
}

std::size_t largest_part(std::size_t points, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  return (points + n - 1) / n;
}

}  // namespace

DistributedFft::DistributedFft(const Layout& layout, DataType type, Exchange exchange, bool cached,
                               const Context& context)
    : layout_(layout),
      type_(type),
      stream_(context.stream),
      points_(context.allocate(layout.points() * size_of(type))),
      transformed_(context.allocate(layout.points() * size_of(type))),
      y_pencils_(context.allocate(layout.y_pencils() * size_of(type))),
      x_pencils_(context.allocate(x_pencils(layout) * size_of(type))),
      inside_(is_sphere(layout) ? context.allocate(layout.coefficients() * size_of(type)) : device::Buffer()),
      blocks_before_(context.allocate(layout.blocks() * size_of(type))),
      blocks_after_(context.allocate(layout.blocks() * size_of(type))),
      rows_(device::upload(layout.rows, context.allocate, context.stream)),
      along_z_(context.device.fft(context.memory, along_z(layout, type))),
      along_y_(layout.first ? context.device.fft(context.memory, along_y(layout, type)) : nullptr),
      along_x_(context.device.fft(context.memory, along_x(layout, type))),
      process_grid_(context.communicator, layout.distribution.p, layout.distribution.q),
      first_(layout.first ? std::make_unique<Transposition>(*layout.first, type, blocks(),
                                                            members(context, &process_grid_, 1, cached), exchange,
                                                            context.allocate, stream_)
                          : nullptr),
      second_(layout.second, type, blocks(), members(context, is_sphere(layout) ? nullptr : &process_grid_, 0, cached),
              exchange, context.allocate, stream_) {}

Arrays DistributedFft::blocks() const {
  return {.blocks_before = blocks_before_.data(), .blocks_after = blocks_after_.data()};
}

void* DistributedFft::coefficients() const { return is_sphere(layout_) ? inside_.data() : x_pencils_.data(); }

void DistributedFft::transform(device::Fft& plan, Direction direction, const void* from, void* to,
                               StepObserver* observer) {
  observed(observer, part::local_fft, stream_, [&] { plan.execute(from, to, direction, stream_); });
}

void DistributedFft::backward(StepObserver* observer) {
  if (is_sphere(layout_)) move_coefficients(Direction::backward, observer);
  transform(*along_x_, Direction::backward, x_pencils_.data(), x_pencils_.data(), observer);
  const device::Buffer& pencils = first_ ? y_pencils_ : points_;
  if (is_sphere(layout_)) {  // columns that are not rays stay 0
    observed(observer, part::packing, stream_, [&] { stream_.fill(pencils.data(), 0, pencils.bytes()); });
  }
  second_.backward(x_pencils_.data(), pencils.data(), observer, stream_);
  if (first_) {
    transform(*along_y_, Direction::backward, y_pencils_.data(), y_pencils_.data(), observer);
    first_->backward(y_pencils_.data(), points_.data(), observer, stream_);
  }
  transform(*along_z_, Direction::backward, points_.data(), points_.data(), observer);
}

void DistributedFft::forward(StepObserver* observer) {
  const auto [nx, ny, nz] = layout_.distribution.grid;
  const double scale = 1 / (static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz));
  transform(*along_z_, Direction::forward, points_.data(), transformed_.data(), observer);
  if (first_) {
    first_->forward(transformed_.data(), y_pencils_.data(), 1, observer, stream_);
    transform(*along_y_, Direction::forward, y_pencils_.data(), y_pencils_.data(), observer);
  }
  second_.forward(first_ ? y_pencils_.data() : transformed_.data(), x_pencils_.data(), scale, observer, stream_);
  transform(*along_x_, Direction::forward, x_pencils_.data(), x_pencils_.data(), observer);
  if (is_sphere(layout_)) move_coefficients(Direction::forward, observer);
}

std::vector<std::function<void()>> DistributedFft::exchanges() {
  std::vector<std::function<void()>> exchanges;
  for (Transposition* step : {first_.get(), &second_}) {
    if (step == nullptr) continue;
    for (const Direction direction : {Direction::backward, Direction::forward}) {
      exchanges.emplace_back([this, step, direction] { step->exchange_blocks(direction, stream_); });
    }
  }
  return exchanges;
}

void DistributedFft::move_coefficients(Direction direction, StepObserver* observer) {
  const device::Box box{1, layout_.rows.size(), layout_.distribution.grid[0]};
  observed(observer, part::packing, stream_, [&] {
    in_precision(type_, [&](auto real) {
      using Element = Complex<decltype(real)>;
      fft::move_coefficients(direction, x_pencils_.as<Element>(), inside_.as<Element>(), rows(), box, stream_);
    });
  });
}

std::size_t DistributedFft::packed(const Layout& layout) {
  std::size_t moved = 0;
  for (const Redistribution* step : {layout.first ? &*layout.first : nullptr, &layout.second}) {
    if (step != nullptr) moved += 2 * (step->before() + step->after() - step->staying());
  }
  if (!is_sphere(layout)) return moved;
  // Backward reads the coefficients inside and writes whole rays; forward reads and writes those inside.
  const std::size_t zeros = layout.first ? layout.y_pencils() : layout.points();
  return moved + (x_pencils(layout) + 3 * layout.coefficients() + zeros) / 2;
}

double largest_share(const Distribution& distribution) {
  const auto [nx, ny, nz] = distribution.grid;
  const auto volume = [](std::size_t x, std::size_t y, std::size_t z) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
  };
  const std::size_t x = largest_part(nx, distribution.p);
  const std::size_t z = largest_part(nz, distribution.q);
  return std::max({volume(x, largest_part(ny, distribution.q), nz), volume(x, ny, z),
                   volume(nx, largest_part(ny, distribution.p), z)});
}

/// Arrays of a share each: points, transformed points, x pencils, blocks on both sides; y pencils, unless there are
/// slabs; and the coefficients of a sphere. And tables with an entry for each column and each row.
double upper_bytes(const Distribution& distribution, DataType type) {
  constexpr double entry = 48;
  const auto [nx, ny, nz] = distribution.grid;
  const bool sphere = distribution.span == Span::sphere;
  const double arrays = 5 + (distribution.slabs() ? 0 : 1) + (sphere ? 1 : 0);
  const auto z = static_cast<double>(largest_part(nz, distribution.q));
  const double columns = static_cast<double>(ny) * (sphere ? z : 1) + static_cast<double>(nz);
  const double rows = static_cast<double>(largest_part(ny, distribution.p)) * z;
  return arrays * largest_share(distribution) * static_cast<double>(size_of(type)) +
         entry * (columns + rows + static_cast<double>(nx + ny) + 8);
}

}  // namespace commlens::fft
