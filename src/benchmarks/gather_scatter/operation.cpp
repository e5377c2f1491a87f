#include "benchmarks/gather_scatter/operation.hpp"

#include <cstddef>

#include "device/launch.hpp"

namespace commlens {

namespace {

namespace stream_of {
constexpr const char* messages = "gather-scatter";
constexpr const char* interior = "operator";
}  // namespace stream_of

/// Many different bits: with zeros a GPU needs less power, and may run faster than with an application's numbers.
void fill_with_fractions(device::Stream& stream, double* values, std::size_t count) {
  device::launch(stream, count, COMMLENS_LAMBDA(std::size_t i) { values[i] = 1 / (1 + static_cast<double>(i % 509)); });
}

}  // namespace

InteriorOperator::InteriorOperator(Run& run, const sem::Mesh& mesh)
    : interior_{mesh.boundary_elements(), mesh.elements()},
      input_(run.buffer(mesh.nodes() * sizeof(double))),
      output_(run.buffer(mesh.nodes() * sizeof(double))),
      poisson_(sem::make_poisson<double>(mesh, {}, sem::Geometry::trilinear, sem::Storage::element, run.context())) {
  fill_with_fractions(run.stream(), input_.as<double>(), mesh.nodes());
  run.stream().wait();
}

void InteriorOperator::add_to(device::Stream& stream) const {
  poisson_->apply(interior_, input_.as<double>(), output_.as<double>(), nullptr, stream);
}

void GatherScatterOperation::overlap_with(const InteriorOperator& interior) {
  interior_ = &interior;
  operator_stream_ = run_.concurrent_stream(device::Priority::normal);
  done_ = run_.event();
}

/// Nodes of this rank alone are combined after the operator, as in an application, where its results are among them.
void GatherScatterOperation::operate(StepObserver* observer) {
  gather_scatter_.observe(observer);
  auto& stream = run_.stream();
  if (interior_ == nullptr) return gather_scatter_.apply(data_, stream);
  gather_scatter_.start(data_, stream);
  observed(observer, stream_of::interior, *operator_stream_, [&] { interior_->add_to(*operator_stream_); });
  gather_scatter_.finish(data_, stream);
  join();
  gather_scatter_.local(data_, stream);
}

std::vector<Part> GatherScatterOperation::parts() {
  namespace part = gather_scatter::part;
  if (interior_ == nullptr) {
    return {{part::pack, stream_of::messages},
            {part::exchange, stream_of::messages},
            {part::local, stream_of::messages},
            {part::unpack, stream_of::messages}};
  }
  return {{stream_of::messages, stream_of::messages, [this] { gather_scatter_alone(); }},
          {stream_of::interior, stream_of::interior, [this] { operator_alone(); }}};
}

void GatherScatterOperation::gather_scatter_alone() {
  gather_scatter_.observe(nullptr);
  gather_scatter_.apply(data_, run_.stream());
}

void GatherScatterOperation::operator_alone() {
  interior_->add_to(*operator_stream_);
  join();
}

void GatherScatterOperation::join() {
  operator_stream_->record(*done_);
  run_.stream().wait_for(*done_);
}

}  // namespace commlens
