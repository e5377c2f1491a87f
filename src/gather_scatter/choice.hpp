// Which method is the fastest here: every one is timed, and the one whose slowest rank is fastest is used.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gather_scatter/gather_scatter.hpp"

namespace commlens::gather_scatter {

/// Of one figure over the ranks.
struct Spread {
  double average = 0;
  double least = 0;
  double largest = 0;
};
Spread spread(double mine, const transport::Communicator& communicator);  ///< collective

struct Timing {
  Method method = Method::pairwise;
  std::string unfit;              ///< why it was not timed; empty if it was
  Spread seconds;                 ///< of a gather-scatter
  Spread exchange;                ///< seconds of its messages alone
  double bidirectional_GBps = 0;  ///< a rank: bytes sent and received, over the seconds of the messages, both added up
                                  ///< over the ranks
};

struct Choice {
  std::vector<Timing> timings;
  std::size_t used = 0;  ///< of `timings`
};

/// As gslib's gs_setup chooses between pairwise, crystal router and all-reduce: 2 to warm up, the mean of 10, of one
/// double a shared node, in ordinary memory of the host, which is given back; what is combined inside a rank is left
/// out. Collective. Over a transport that does not take the host's memory there is one timing, which says so.
Choice choose_on_host(const Sharing& sharing, const Surroundings& surroundings);

/// As nekRS's oogs chooses: every method is done 10 times, each between a synchronization of the device and a barrier,
/// and counts with its least time. `data` is scratch of fields * nodes elements. Collective.
Timing time_of(GatherScatter& operation, Method method, void* data, const Sharing& sharing, const Kind& kind,
               const Surroundings& surroundings);

/// What nekRS calls the combination: "pairwise+device", "neighbor+hybrid", "ccl+device", "crystal-router+host"; and
/// "host" for Method::host.
std::string configuration(Method method, std::string_view transport, device::Memory memory);

/// "pairwise+device (MPI min/max/avg: 4.15e-05s 4.68e-05s 4.39e-05s / avg bi-bw: 10.9GB/s/rank)"
std::string describe(const Timing& timing, const std::string& configuration);

/// The lines that nekRS and gslib print of a set-up: labels, times, the method used, bytes, and counts and sizes of the
/// messages. Collective; the lines are the same on all ranks.
std::vector<std::string> setup_lines(const Sharing& sharing, const Choice& on_host, double setup_seconds,
                                     std::size_t list_bytes, std::size_t buffer_bytes,
                                     const transport::Communicator& communicator);

/// Messages of a rank and values in them, over the ranks.
struct MessageCounts {
  Spread messages;
  Spread size;      ///< values of a message; over all messages
  Spread size_sum;  ///< values of all messages of a rank
};
MessageCounts message_counts(const Sharing& sharing, const transport::Communicator& communicator);

}  // namespace commlens::gather_scatter
