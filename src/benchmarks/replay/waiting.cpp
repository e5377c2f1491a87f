#include "benchmarks/replay/waiting.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "benchmarks/replay/call_log.hpp"
#include "benchmarks/replay/common_clock.hpp"
#include "benchmarks/replay/communicators.hpp"
#include "benchmarks/replay/critical_path.hpp"
#include "benchmarks/replay/matching.hpp"
#include "benchmarks/replay/rank_log.hpp"
#include "benchmarks/replay/rank_shares.hpp"
#include "benchmarks/replay/wait_states.hpp"
#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

/// Of all ranks together: what rank 0 needs for them is less than 300 MB.
constexpr std::size_t most_logged_calls = 1'000'000;

/// Collective: those of each rank, on rank 0.
template <class Item>
std::vector<std::vector<Item>> gathered(const transport::Communicator& ranks, const std::vector<Item>& mine) {
  const bool is_root = ranks.rank() == 0;
  const auto size = static_cast<std::size_t>(ranks.size());
  const int bytes = static_cast<int>(mine.size() * sizeof(Item));
  std::vector<int> counts(size);
  CALL_MPI(PMPI_Gather, &bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, ranks.handle());
  std::vector<int> displacements(size);
  for (std::size_t rank = 1; rank < size; ++rank) displacements[rank] = displacements[rank - 1] + counts[rank - 1];
  std::vector<Item> all(is_root ? static_cast<std::size_t>(displacements.back() + counts.back()) / sizeof(Item) : 0);
  CALL_MPI(PMPI_Gatherv, mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), displacements.data(), MPI_BYTE, 0,
           ranks.handle());
  std::vector<std::vector<Item>> of_rank(size);
  auto next = all.begin();
  for (std::size_t rank = 0; is_root && rank < size; ++rank) {
    const auto end = next + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(counts[rank]) / sizeof(Item));
    of_rank[rank].assign(next, end);
    next = end;
  }
  return of_rank;
}

std::vector<RankLog> gathered_logs(const transport::Communicator& ranks, const RankLog& mine) {
  const auto times = gathered(ranks, std::vector<double>{mine.start_s, mine.end_s});
  auto calls = gathered(ranks, mine.calls);
  auto operations = gathered(ranks, mine.operations);
  auto sources = gathered(ranks, mine.sources);
  std::vector<RankLog> logs;
  for (std::size_t rank = 0; ranks.rank() == 0 && rank < times.size(); ++rank) {
    logs.push_back({.start_s = times[rank][0],
                    .end_s = times[rank][1],
                    .calls = std::move(calls[rank]),
                    .operations = std::move(operations[rank]),
                    .sources = std::move(sources[rank])});
  }
  return logs;
}

void convert(RankLog& log, const CommonClock& clock) {
  log.start_s = clock.common(log.start_s);
  log.end_s = clock.common(log.end_s);
  for (LoggedCall& call : log.calls) {
    call.enter_s = clock.common(call.enter_s);
    call.exit_s = clock.common(call.exit_s);
  }
}

std::string series_name(std::size_t number, std::int64_t ranks) {
  if (number == 0) return "MPI_COMM_WORLD_s";
  if (number == 1) return "MPI_COMM_SELF_s";
  return fmt::format("communicator_{}_of_{}_ranks_s", number, ranks);
}

/// Collective: the time in calls on each communicator, by rank. Numbers of the trace are a rank's own: the series have
/// others, in the order of the ranks.
void add_communicators(Run& run, const CallLog& log) {
  Json mine = Json::array();
  for (const auto& [name, own] : log.communicators()) mine.push_back({own.id, name.second, own.seconds});
  std::map<std::uint64_t, std::size_t> numbers{{Communicators::world_id, 0}, {Communicators::self_id, 1}};
  std::map<std::string, std::vector<double>> series;
  std::size_t rank = 0;
  for (const std::string& text : run.communicator().gather(line_of(mine))) {
    for (const Json& own : parse_json(text)) {
      const std::size_t number = numbers.try_emplace(own[0].get<std::uint64_t>(), numbers.size()).first->second;
      auto& of_rank = series[series_name(number, own[1].get<std::int64_t>())];
      of_rank.resize(static_cast<std::size_t>(run.ranks()));
      of_rank[rank] += own[2].get<double>();
    }
    ++rank;
  }
  for (auto& [name, of_rank] : series) run.series(name, std::move(of_rank));
}

double seconds_in_calls(const RankLog& log) {
  double sum = 0;
  for (const LoggedCall& call : log.calls) sum += call.exit_s - call.enter_s;
  return sum;
}

double mean_over(std::size_t ranks, const std::function<double(std::size_t rank)>& value) {
  double sum = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) sum += value(rank);
  return sum / static_cast<double>(ranks);
}

std::vector<double> by_rank(const std::vector<Waits>& waits, double (*value)(const Waits& own)) {
  std::vector<double> values;
  for (const Waits& own : waits) values.push_back(value(own));
  return values;
}

void add_wait_states(Run& run, const std::vector<RankLog>& logs, const std::vector<Waits>& waits) {
  const auto mean = [&](const auto& value) { return mean_over(logs.size(), value); };
  const auto mean_of = [&](WaitState state) { return mean([&](std::size_t rank) { return waits[rank].of(state); }); };
  const double waiting = mean([&](std::size_t rank) { return waits[rank].sum(); });
  const double in_calls = mean([&](std::size_t rank) { return seconds_in_calls(logs[rank]); });
  run.fact(waiting_s, waiting);
  run.fact(late_sender_s, mean_of(WaitState::late_sender));
  run.fact(late_receiver_s, mean_of(WaitState::late_receiver));
  run.fact(late_collective_s, mean_of(WaitState::late_collective));
  run.part("computation", "rank",
           mean([&](std::size_t rank) { return logs[rank].end_s - logs[rank].start_s; }) - in_calls);
  run.part("transfer", "rank", std::max(0.0, in_calls - waiting));
  run.part("waiting", "rank", waiting);
  run.series("waiting_s", by_rank(waits, [](const Waits& own) { return own.sum(); }));
  run.series("awaited_s", by_rank(waits, [](const Waits& own) { return own.caused_s; }));
}

void add_critical_path(Run& run, const std::vector<RankLog>& logs, const CriticalPath& path) {
  double begin_s = logs.front().start_s;
  double end_s = logs.front().end_s;
  for (const RankLog& log : logs) {
    begin_s = std::min(begin_s, log.start_s);
    end_s = std::max(end_s, log.end_s);
  }
  run.fact(observed_s, end_s - begin_s);
  run.fact(critical_path_s, path.seconds);
  if (end_s > begin_s) run.fact(free_communication_saves, std::max(0.0, 1 - path.seconds / (end_s - begin_s)));
}

/// Where the log of one rank is full, those of the others end, too: what is later has nothing to be matched with.
void end_together(Run& run, std::vector<RankLog>& logs) {
  const auto by_end = [](const RankLog& one, const RankLog& other) { return one.end_s < other.end_s; };
  const double end_s = std::min_element(logs.begin(), logs.end(), by_end)->end_s;
  const double whole_s = std::max_element(logs.begin(), logs.end(), by_end)->end_s;
  double begin_s = end_s;
  for (RankLog& log : logs) {
    begin_s = std::min(begin_s, log.start_s);
    keep_until(log, end_s);
  }
  run.report(
      fmt::format("waiting is of the first {:.3g} s of at least {:.3g} s, in which one rank has made {} calls; the "
                  "critical path is not known",
                  end_s - begin_s, whole_s - begin_s, most_logged_calls / static_cast<std::size_t>(run.ranks())));
}

}  // namespace

void add_waiting(Run& run, Executor& executor, const Program& program) {
  const auto& ranks = run.communicator();
  if (ranks.maximum(program.cancels() ? 1 : 0) > 0) {
    run.report("waiting is not known: the program cancels requests, and which messages belong together is not known");
    return;
  }
  CallLog log(ranks.handle(), program.has_wildcards(),
              std::max<std::size_t>(most_logged_calls / static_cast<std::size_t>(run.ranks()), 1));
  CommonClock clock(ranks);
  executor.prepare();
  run.barrier();
  log.start();
  executor.execute_for(log);
  log.finish();
  clock.finish();
  convert(log.log(), clock);
  add_communicators(run, log);
  const bool is_full = ranks.maximum(log.is_full() ? 1 : 0) > 0;
  auto logs = gathered_logs(ranks, log.log());
  if (logs.empty()) return;  // rank 0's record is written
  if (is_full) end_together(run, logs);
  const Matching matching(logs);
  const auto waits = wait_states(logs, matching);
  add_wait_states(run, logs, waits);
  if (is_full) return;
  const CriticalPath path = critical_path(logs, matching);
  add_critical_path(run, logs, path);
  RankShares shares = rank_shares(logs, waits, path);
  run.series("waiting_over_time", std::move(shares.waiting));
  run.series("transfer_over_time", std::move(shares.transfer));
  run.series("critical_path_over_time", std::move(shares.path));
  if (const std::size_t unmatched = matching.unmatched(); unmatched > 0) {
    run.report(fmt::format("waiting for {} messages is not known: their other side is not in the trace", unmatched));
  }
}

}  // namespace commlens::replay
