// The operation that gather-scatter measures: a gather-scatter, alone or overlapped with the operator of bp5.
#pragma once

#include <memory>
#include <vector>

#include "gather_scatter/gather_scatter.hpp"
#include "harness/run.hpp"
#include "sem/mesh.hpp"
#include "sem/poisson.hpp"

namespace commlens {

/// What an application does while its messages travel: the operator on the elements that touch no other rank. It works
/// on vectors of its own, because the values that are combined have to stay exact.
class InteriorOperator {
 public:
  InteriorOperator(Run& run, const sem::Mesh& mesh);

  void add_to(device::Stream& stream) const;

 private:
  sem::ElementRange interior_;
  device::Buffer input_;
  device::Buffer output_;
  std::unique_ptr<sem::Poisson<double>> poisson_;
};

class GatherScatterOperation {
 public:
  /// All of these must outlive it.
  GatherScatterOperation(Run& run, gather_scatter::GatherScatter& gather_scatter, void* data)
      : run_(run), gather_scatter_(gather_scatter), data_(data) {}

  /// From now on the interior operator is applied on a stream of its own while the messages travel.
  void overlap_with(const InteriorOperator& interior);

  void operate(StepObserver* observer);
  /// With an interior operator the two are timed alone; without, the steps within the operation.
  [[nodiscard]] std::vector<Part> parts();

 private:
  void gather_scatter_alone();
  void operator_alone();
  /// The run's stream waits for the operator.
  void join();

  Run& run_;
  gather_scatter::GatherScatter& gather_scatter_;
  void* data_;
  const InteriorOperator* interior_ = nullptr;
  std::unique_ptr<device::Stream> operator_stream_;
  std::unique_ptr<device::Event> done_;
};

}  // namespace commlens
