#include "benchmarks/replay/common_clock.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace commlens::replay {
namespace {

constexpr int round_trips = 50;
constexpr int first_rank = 0;
constexpr int tag = 0;

}  // namespace

ClockOffset offset_of(std::span<const RoundTrip> trips) {
  const auto shortest = std::min_element(trips.begin(), trips.end(), [](const RoundTrip& one, const RoundTrip& other) {
    return one.received_s - one.sent_s < other.received_s - other.sent_s;
  });
  const double middle_s = (shortest->sent_s + shortest->received_s) / 2;
  return {.at_s = middle_s, .seconds = shortest->answered_s - middle_s};
}

double common_time(double own_s, const ClockOffset& first, const ClockOffset& last) {
  const double between_s = last.at_s - first.at_s;
  const double rate = between_s > 0 ? (last.seconds - first.seconds) / between_s : 0;
  return own_s + first.seconds + rate * (own_s - first.at_s);
}

CommonClock::CommonClock(const transport::Communicator& ranks)
    : ranks_(ranks.handle()), node_(ranks_.node()), first_(compare()), last_(first_) {}

/// One node after the other, by its first rank.
ClockOffset CommonClock::compare() const {
  const bool asks = node_.rank() == 0 && ranks_.rank() != first_rank;
  const auto asking = ranks_.gather(asks ? "asks" : "");
  ClockOffset offset;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (asking[static_cast<std::size_t>(rank)].empty()) continue;
    if (rank == ranks_.rank()) offset = compare_with_first();
    if (ranks_.rank() == first_rank) answer(rank);
  }
  double of_node[]{offset.at_s, offset.seconds};
  CALL_MPI(PMPI_Bcast, of_node, 2, MPI_DOUBLE, 0, node_.handle());
  return {.at_s = of_node[0], .seconds = of_node[1]};
}

ClockOffset CommonClock::compare_with_first() const {
  std::vector<RoundTrip> trips(round_trips);
  for (RoundTrip& trip : trips) {
    trip.sent_s = SteadyClock::seconds();
    CALL_MPI(PMPI_Send, nullptr, 0, MPI_DOUBLE, first_rank, tag, ranks_.handle());
    CALL_MPI(PMPI_Recv, &trip.answered_s, 1, MPI_DOUBLE, first_rank, tag, ranks_.handle(), MPI_STATUS_IGNORE);
    trip.received_s = SteadyClock::seconds();
  }
  return offset_of(trips);
}

void CommonClock::answer(int rank) const {
  for (int i = 0; i < round_trips; ++i) {
    CALL_MPI(PMPI_Recv, nullptr, 0, MPI_DOUBLE, rank, tag, ranks_.handle(), MPI_STATUS_IGNORE);
    const double now_s = SteadyClock::seconds();
    CALL_MPI(PMPI_Send, &now_s, 1, MPI_DOUBLE, rank, tag, ranks_.handle());
  }
}

}  // namespace commlens::replay
