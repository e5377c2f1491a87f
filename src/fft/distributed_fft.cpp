#include "fft/distributed_fft.hpp"

#include "device/launch.hpp"
#include "fft/complex.hpp"

namespace commlens::fft {

using device::Direction;

namespace {

std::size_t along_rows(const Layout& layout) { return layout.second.after(); }
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

Between between(const DistributedFft::Resources& resources, const ProcessGrid* grid, int axis, bool cached) {
  return {.all = resources.transport, .grid = grid, .axis = axis, .cached = cached};
}

template <class Real>
void collect_coefficients(Complex<Real>* inside, const Complex<Real>* rays, const Ray* rows, device::Box box,
                          device::Stream& stream) {
  const std::size_t nx = box[2];
  device::launch(
      stream, box, COMMLENS_LAMBDA(std::size_t, std::size_t row, std::size_t x) {
        const std::ptrdiff_t in_x = frequency(x, nx);
        if (rows[row].holds(in_x)) inside[rows[row].at(in_x)] = rays[row * nx + x];
      });
}

template <class Real>
void spread_coefficients(Complex<Real>* rays, const Complex<Real>* inside, const Ray* rows, device::Box box,
                         device::Stream& stream) {
  const std::size_t nx = box[2];
  device::launch(
      stream, box, COMMLENS_LAMBDA(std::size_t, std::size_t row, std::size_t x) {
        const std::ptrdiff_t in_x = frequency(x, nx);
        rays[row * nx + x] = rows[row].holds(in_x) ? inside[rows[row].at(in_x)] : Complex<Real>{0, 0};
      });
}

}  // namespace

DistributedFft::DistributedFft(const Layout& layout, DataType type, Exchange exchange, bool cached,
                               const Resources& resources)
    : layout_(layout),
      type_(type),
      stream_(resources.stream),
      points_(resources.allocate(layout.points() * size_of(type))),
      transformed_(resources.allocate(layout.points() * size_of(type))),
      between_(resources.allocate(layout.between() * size_of(type))),
      along_rows_(resources.allocate(along_rows(layout) * size_of(type))),
      inside_(is_sphere(layout) ? resources.allocate(layout.coefficients() * size_of(type)) : device::Buffer()),
      blocks_before_(resources.allocate(layout.blocks() * size_of(type))),
      blocks_after_(resources.allocate(layout.blocks() * size_of(type))),
      rows_(resources.allocate(layout.rows.size() * sizeof(Ray))),
      along_z_(resources.device.fft(resources.memory, along_z(layout, type))),
      along_y_(layout.first ? resources.device.fft(resources.memory, along_y(layout, type)) : nullptr),
      along_x_(resources.device.fft(resources.memory, along_x(layout, type))),
      process_grid_(resources.communicator, layout.distribution.p, layout.distribution.q),
      first_(layout.first ? std::make_unique<Transposition>(*layout.first, type, blocks(),
                                                            between(resources, &process_grid_, 1, cached), exchange,
                                                            resources.allocate, stream_)
                          : nullptr),
      second_(layout.second, type, blocks(),
              between(resources, is_sphere(layout) ? nullptr : &process_grid_, 0, cached), exchange, resources.allocate,
              stream_) {
  stream_.copy(rows_.data(), layout.rows.data(), rows_.bytes());
  stream_.wait();
}

double DistributedFft::bytes(const Layout& layout, DataType type) {
  const std::size_t elements = 2 * layout.points() + layout.between() + along_rows(layout) +
                               (is_sphere(layout) ? layout.coefficients() : 0) + 2 * layout.blocks();
  const std::size_t tables = (layout.first ? Packer::table_bytes(*layout.first) : 0) +
                             Packer::table_bytes(layout.second) + layout.rows.size() * sizeof(Ray);
  return static_cast<double>(elements) * static_cast<double>(size_of(type)) + static_cast<double>(tables);
}

Arrays DistributedFft::blocks() const {
  return {.blocks_before = blocks_before_.data(), .blocks_after = blocks_after_.data()};
}

void* DistributedFft::coefficients() const { return is_sphere(layout_) ? inside_.data() : along_rows_.data(); }

void DistributedFft::transform(device::Fft& plan, Direction direction, const void* from, void* to, Observer* observer) {
  observed(observer, part::local_fft, stream_, [&] { plan.execute(from, to, direction, stream_); });
}

void DistributedFft::backward(Observer* observer) {
  if (is_sphere(layout_)) spread(observer);
  transform(*along_x_, Direction::backward, along_rows_.data(), along_rows_.data(), observer);
  const device::Buffer& pencils = first_ ? between_ : points_;
  if (is_sphere(layout_)) {  // not every column is a ray
    observed(observer, part::packing, stream_, [&] { stream_.fill(pencils.data(), 0, pencils.bytes()); });
  }
  second_.backward(along_rows_.data(), pencils.data(), observer, stream_);
  if (first_) {
    transform(*along_y_, Direction::backward, between_.data(), between_.data(), observer);
    first_->backward(between_.data(), points_.data(), observer, stream_);
  }
  transform(*along_z_, Direction::backward, points_.data(), points_.data(), observer);
}

void DistributedFft::forward(Observer* observer) {
  const auto [nx, ny, nz] = layout_.distribution.grid;
  const double scale = 1 / (static_cast<double>(nx) * static_cast<double>(ny) * static_cast<double>(nz));
  transform(*along_z_, Direction::forward, points_.data(), transformed_.data(), observer);
  if (first_) {
    first_->forward(transformed_.data(), between_.data(), 1, observer, stream_);
    transform(*along_y_, Direction::forward, between_.data(), between_.data(), observer);
  }
  second_.forward(first_ ? between_.data() : transformed_.data(), along_rows_.data(), scale, observer, stream_);
  transform(*along_x_, Direction::forward, along_rows_.data(), along_rows_.data(), observer);
  if (is_sphere(layout_)) collect(observer);
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

void DistributedFft::collect(Observer* observer) {
  const device::Box box{1, layout_.rows.size(), layout_.distribution.grid[0]};
  observed(observer, part::packing, stream_, [&] {
    in_precision(type_, [&](auto real) {
      using Element = Complex<decltype(real)>;
      collect_coefficients(inside_.as<Element>(), along_rows_.as<Element>(), rows(), box, stream_);
    });
  });
}

void DistributedFft::spread(Observer* observer) {
  const device::Box box{1, layout_.rows.size(), layout_.distribution.grid[0]};
  observed(observer, part::packing, stream_, [&] {
    in_precision(type_, [&](auto real) {
      using Element = Complex<decltype(real)>;
      spread_coefficients(along_rows_.as<Element>(), inside_.as<Element>(), rows(), box, stream_);
    });
  });
}

std::size_t DistributedFft::packed(const Layout& layout) {
  std::size_t moved = 0;
  for (const Redistribution* step : {layout.first ? &*layout.first : nullptr, &layout.second}) {
    if (step != nullptr) moved += 2 * (step->before() + step->after() - step->kept());
  }
  if (!is_sphere(layout)) return moved;
  // Between rays and coefficients; what is read and not written, or written and not read, is half a copy.
  const std::size_t zeros = layout.first ? layout.between() : layout.points();
  return moved + (along_rows(layout) + 3 * layout.coefficients() + zeros) / 2;
}

}  // namespace commlens::fft
