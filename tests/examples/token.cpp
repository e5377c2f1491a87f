// A benchmark: a message goes from rank to rank, once around.
#include <cstddef>

#include "harness/benchmark.hpp"
#include "harness/pattern.hpp"

namespace commlens {
namespace {

constexpr Metric hop_us{"hop_us", unit::us, Better::lower, "time around over the ranks"};

struct TokenOptions {
  Sizes bytes{1, 1_MiB};

  void describe(OptionSet& options) { options.add("bytes", bytes, "size or sizes of the message"); }
};

void token(Run& run, const TokenOptions& options) {
  const auto data = run.buffer(options.bytes);
  const int next = (run.rank() + 1) % run.ranks();
  const int before = (run.rank() + run.ranks() - 1) % run.ranks();
  const auto send = [&] { run.transport().send(data.data(), data.bytes(), next, run.stream()); };
  const auto receive = [&] { run.transport().receive(data.data(), data.bytes(), before, run.stream()); };
  if (run.ranks() == 1) throw Unsupported("one rank has nobody to pass it to: start at least 2");
  run.measure({.operation = "once around",
               .reset =
                   [&](std::size_t round) {
                     if (run.rank() == 0) return pattern::write_bytes(run.stream(), data, round);
                     pattern::poison_bytes(run.stream(), data, round);
                   },
               .operate =
                   [&] {
                     if (run.rank() == 0) send();
                     receive();
                     if (run.rank() != 0) send();
                   },
               .verify = [&](std::size_t round) { return pattern::expect_bytes(run.stream(), data, round); },
               .metrics = {hop_us(1.0 / run.ranks())}});
}

BENCHMARK("token", "pass a message from rank to rank, once around", token, TokenOptions, .metrics = {hop_us});

}  // namespace
}  // namespace commlens
