#include "gather_scatter/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/stopwatch.hpp"
#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

using transport::Communicator;

namespace {

constexpr int tests = 10;

/// Seconds from a barrier until this rank has finished.
template <class Function>
double seconds_of(Function function, const Context& context) {
  context.stream.wait();
  context.communicator.barrier();
  const Stopwatch stopwatch;
  function();
  context.stream.wait();
  return stopwatch.seconds();
}

template <class Function>
double least_seconds_of(Function function, const Context& context) {
  double least = std::numeric_limits<double>::max();
  for (int test = 0; test < tests; ++test) least = std::min(least, seconds_of(function, context));
  return least;
}

/// Back to back, as gslib times them.
double mean_seconds_of(GatherScatter& operation, void* data, const Context& context) {
  const auto apply = [&](int times) {
    for (int i = 0; i < times; ++i) operation.apply(data, context.stream);
  };
  apply(2);
  return seconds_of([&] { apply(tests); }, context) / tests;
}

/// Combining nodes of one rank alone takes the same time with all methods; gslib's dry runs leave it out, too.
Choice choose(const Sharing& of_nodes, const Context& host) {
  const Sharing sharing = of_nodes.of_values();
  const auto lists = make_lists(sharing, host);
  const device::Buffer data = host.allocate(sharing.nodes * sizeof(double));
  host.stream.fill(data.data(), 0, data.bytes());
  Choice choice;
  for (const Method method : {Method::pairwise, Method::crystal_router, Method::all_reduce}) {
    Timing timing{.method = method, .unsupported = unsupported(method, sharing, {}, host)};
    if (timing.unsupported.empty()) {
      const auto operation = make(method, lists, {}, host);
      timing.seconds = transport::spread(mean_seconds_of(*operation, data.data(), host), host.communicator);
    }
    choice.timings.push_back(timing);
  }
  for (std::size_t i = 1; i < choice.timings.size(); ++i) {
    const Timing& timing = choice.timings[i];
    const Timing& best = choice.timings[choice.used];
    if (timing.unsupported.empty() && timing.seconds.maximum < best.seconds.maximum) choice.used = i;
  }
  return choice;
}

std::string gslib_name(Method method) {
  if (method == Method::crystal_router) return "crystal router";
  return method == Method::all_reduce ? "all reduce" : std::string(name(method));
}

std::string times_line(const Timing& timing) {
  const std::string label =
      timing.method == Method::pairwise ? "pairwise times (avg, min, max)" : gslib_name(timing.method);
  const Spread& seconds = timing.seconds;
  return fmt::format("   {:<30}: {:g} {:g} {:g}", label, seconds.average, seconds.minimum, seconds.maximum);
}

std::string bytes_line(std::string_view label, std::size_t mine, const Communicator& communicator) {
  const Spread bytes = transport::spread(static_cast<double>(mine), communicator);
  return fmt::format("   {} bytes (avg, min, max): {:g} {:.0f} {:.0f}", label, bytes.average, bytes.minimum,
                     bytes.maximum);
}

std::string counts_line(std::string_view label, const Spread& counts) {
  return fmt::format(" {:<11} max/min/avg: {:.0f} {:.0f} {:.2f}", label, counts.maximum, counts.minimum,
                     counts.average);
}

}  // namespace

Choice choose_on_host(const Sharing& sharing, const Context& context) {
  if (!context.transport.takes_host_memory()) {
    return {.timings = {
                {.method = Method::pairwise, .unsupported = "the transport does not take other memory of the host"}}};
  }
  const auto stream = context.device.stream(device::Memory::host);
  const auto allocate = [&](std::size_t bytes) { return context.device.allocate(device::Memory::host, bytes); };
  return choose(sharing, {.communicator = context.communicator,
                          .transport = context.transport,
                          .device = context.device,
                          .memory = device::Memory::host,
                          .stream = *stream,
                          .allocate = allocate,
                          .allocate_staging = allocate});
}

Timing time_of(GatherScatter& operation, Method method, void* data, const Sharing& sharing, const ValueKind& kind,
               const Context& context) {
  const Communicator& communicator = context.communicator;
  const double whole = least_seconds_of([&] { operation.apply(data, context.stream); }, context);
  const double messages = least_seconds_of([&] { operation.exchange(context.stream); }, context);
  const double bytes = 2 * static_cast<double>(sharing.sent() * kind.fields * size_of(kind.exchange_type));
  return {.method = method,
          .unsupported = {},
          .seconds = transport::spread(whole, communicator),
          .exchange = transport::spread(messages, communicator),
          .bidirectional_GBps = communicator.sum_of_reals(bytes) / communicator.sum_of_reals(messages) / 1e9};
}

Selection select(std::optional<Method> wanted, const std::shared_ptr<const Lists>& lists, void* data,
                 const Sharing& sharing, const ValueKind& kind, const Context& context) {
  Selection best;
  for (const Method method : all_values<Method>()) {
    if (wanted && *wanted != method) continue;
    best.unsupported = unsupported(method, sharing, kind, context);
    if (!best.unsupported.empty()) continue;
    auto candidate = make(method, lists, kind, context);
    if (!wanted && context.communicator.size() > 1) {
      const Timing timing = time_of(*candidate, method, data, sharing, kind, context);
      if (best.timing && best.timing->seconds.maximum <= timing.seconds.maximum) continue;
      best.timing = timing;
    }
    best.operation = std::move(candidate);
    best.method = method;
    if (!best.timing) break;
  }
  return best;
}

std::string configuration(Method method, std::string_view transport, device::Memory memory) {
  if (method == Method::host) return "host";
  const bool ccl = transport == "ccl" && method == Method::pairwise;
  const std::string exchange(ccl ? transport : name(method));
  if (!device::on_gpu(memory)) return exchange + "+host";
  return exchange + (transport == "staged" ? "+hybrid" : "+device");
}

std::string describe(const Timing& timing, const std::string& configuration) {
  const Spread& seconds = timing.exchange;
  return fmt::format("{} (MPI min/max/avg: {:.2e}s {:.2e}s {:.2e}s / avg bi-bw: {:.1f}GB/s/rank)", configuration,
                     seconds.minimum, seconds.maximum, seconds.average, timing.bidirectional_GBps);
}

std::vector<std::string> setup_lines(const Sharing& sharing, const Choice& on_host, double setup_seconds,
                                     std::size_t list_bytes, std::size_t buffer_bytes,
                                     const Communicator& communicator) {
  std::vector<std::string> lines{fmt::format("gs_setup: {} unique labels shared", sharing.shared_ids)};
  for (const Timing& timing : on_host.timings) {
    if (timing.unsupported.empty()) lines.push_back(times_line(timing));
  }
  const Timing& used = on_host.timings.at(on_host.used);
  if (used.unsupported.empty()) lines.push_back("   used all_to_all method: " + gslib_name(used.method));
  lines.push_back(bytes_line("handle", list_bytes, communicator));
  lines.push_back(bytes_line("buffer", buffer_bytes, communicator));
  lines.push_back(fmt::format("   setupds time {:.4E} seconds", communicator.maximum(setup_seconds)));
  const MessageCounts counts = message_counts(sharing, communicator);
  lines.push_back(counts_line("nMessages", counts.messages));
  lines.push_back(counts_line("msgSize", counts.size));
  lines.push_back(counts_line("msgSizeSum", counts.size_sum));
  return lines;
}

MessageCounts message_counts(const Sharing& sharing, const Communicator& communicator) {
  double least = std::numeric_limits<double>::max();
  double largest = 0;
  for (const Sharing::Peer& peer : sharing.peers) {
    least = std::min(least, static_cast<double>(peer.groups.size()));
    largest = std::max(largest, static_cast<double>(peer.groups.size()));
  }
  const auto messages = static_cast<double>(sharing.peers.size());
  MessageCounts counts{.messages = transport::spread(messages, communicator),
                       .size = {},
                       .size_sum = transport::spread(static_cast<double>(sharing.sent()), communicator)};
  if (counts.messages.maximum == 0) return counts;
  counts.size = {.minimum = -communicator.maximum(-least),
                 .maximum = communicator.maximum(largest),
                 .average = counts.size_sum.average / counts.messages.average};
  return counts;
}

}  // namespace commlens::gather_scatter
