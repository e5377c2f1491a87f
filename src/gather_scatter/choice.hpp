// Choosing the fastest method: each is timed, and the one whose slowest rank is fastest is used. And what nekRS and
// gslib print about it, in their words.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gather_scatter/gather_scatter.hpp"
#include "transport/communicator.hpp"

namespace commlens::gather_scatter {

using transport::Spread;

struct Timing {
  Method method = Method::pairwise;
  std::string unsupported;        ///< why it was not timed; empty if it was
  Spread seconds;                 ///< of a gather-scatter
  Spread exchange;                ///< seconds of its messages alone
  double bidirectional_GBps = 0;  ///< per rank: bytes sent and received by all ranks over the sum of their seconds
};

struct Choice {
  std::vector<Timing> timings;
  std::size_t used = 0;  ///< of `timings`
};

/// As gslib's gs_setup chooses between pairwise, crystal router and all-reduce: 2 warm-ups, then the mean of 10, of one
/// double per shared node in pageable host memory; nodes of one rank alone are left out. Collective. With a transport
/// that does not take host memory there is a single timing, which says so.
Choice choose_on_host(const Sharing& sharing, const Context& context);

/// As nekRS's oogs chooses: the least of 10 times of the method, each between a synchronization of the device and a
/// barrier. `data` is scratch memory of fields * nodes elements. Collective.
Timing time_of(GatherScatter& operation, Method method, void* data, const Sharing& sharing, const ValueKind& kind,
               const Context& context);

/// A gather-scatter that is ready for use, and how fast it was where methods were compared.
struct Selection {
  std::unique_ptr<GatherScatter> operation;  ///< none where the wanted method is not supported
  Method method = Method::pairwise;
  std::optional<Timing> timing;
  std::string unsupported;  ///< why the wanted method is not
};

/// The wanted method, or, without one, the fastest. `data` as for time_of(). Collective.
Selection select(std::optional<Method> wanted, const std::shared_ptr<const Lists>& lists, void* data,
                 const Sharing& sharing, const ValueKind& kind, const Context& context);

/// nekRS's name of the combination: "pairwise+device", "neighbor+hybrid", "ccl+device", "crystal-router+host"; and
/// "host" for Method::host.
std::string configuration(Method method, std::string_view transport, device::Memory memory);

/// "pairwise+device (MPI min/max/avg: 4.15e-05s 4.68e-05s 4.39e-05s / avg bi-bw: 10.9GB/s/rank)"
std::string describe(const Timing& timing, const std::string& configuration);

/// The lines that nekRS and gslib print about a set-up: shared ids, times, the method used, bytes, and counts and sizes
/// of messages. Collective; the lines are the same on all ranks.
std::vector<std::string> setup_lines(const Sharing& sharing, const Choice& on_host, double setup_seconds,
                                     std::size_t list_bytes, std::size_t buffer_bytes,
                                     const transport::Communicator& communicator);

struct MessageCounts {
  Spread messages;  ///< per rank
  Spread size;      ///< values per message, over all messages
  Spread size_sum;  ///< values in all messages of a rank
};
MessageCounts message_counts(const Sharing& sharing, const transport::Communicator& communicator);  ///< collective

}  // namespace commlens::gather_scatter
