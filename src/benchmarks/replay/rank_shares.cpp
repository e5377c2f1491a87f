#include "benchmarks/replay/rank_shares.hpp"

#include <algorithm>
#include <cmath>

namespace commlens::replay {
namespace {

/// Adds shares of intervals of a row.
class Intervals {
 public:
  Intervals(double begin_s, double end_s, double weight)
      : begin_s_(begin_s),
        length_s_(std::max(end_s - begin_s, 1e-9) / static_cast<double>(RankShares::intervals)),
        weight_(weight) {}

  void add(double begin_s, double end_s, double* row) const {
    const double first = (begin_s - begin_s_) / length_s_;
    const double last = (end_s - begin_s_) / length_s_;
    for (auto i = index_at(first); i < RankShares::intervals && static_cast<double>(i) < last; ++i) {
      const auto from = static_cast<double>(i);
      row[i] += weight_ * std::max(0.0, std::min(last, from + 1) - std::max(first, from));
    }
  }

 private:
  static std::size_t index_at(double place) { return static_cast<std::size_t>(std::max(0.0, std::floor(place))); }

  double begin_s_;
  double length_s_;
  double weight_;
};

std::vector<double> ranks_on(const std::vector<PathPiece>& pieces, double begin_s, double end_s) {
  std::vector<double> ranks;
  std::size_t piece = 0;
  for (std::size_t i = 0; i < RankShares::intervals && !pieces.empty(); ++i) {
    const double middle =
        begin_s + (end_s - begin_s) * (static_cast<double>(i) + 0.5) / static_cast<double>(RankShares::intervals);
    while (piece + 1 < pieces.size() && pieces[piece + 1].begin_s <= middle) ++piece;
    ranks.push_back(pieces[piece].rank);
  }
  return ranks;
}

void round_all(std::vector<double>& shares) {
  for (double& share : shares) share = std::round(share * 1000) / 1000;
}

}  // namespace

RankShares rank_shares(const std::vector<RankLog>& logs, const std::vector<Waits>& waits, const CriticalPath& path) {
  const std::size_t rows = std::min(logs.size(), RankShares::most_rows);
  RankShares shares{.waiting = std::vector<double>(rows * RankShares::intervals),
                    .transfer = std::vector<double>(rows * RankShares::intervals)};
  double begin_s = logs.front().start_s;
  double end_s = logs.front().end_s;
  for (const RankLog& log : logs) {
    begin_s = std::min(begin_s, log.start_s);
    end_s = std::max(end_s, log.end_s);
  }
  std::vector<double> ranks_of_row(rows);
  for (std::size_t rank = 0; rank < logs.size(); ++rank) ranks_of_row[rank * rows / logs.size()] += 1;
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    const std::size_t row = rank * rows / logs.size();
    const Intervals intervals(begin_s, end_s, 1 / ranks_of_row[row]);
    for (std::size_t i = 0; i < logs[rank].calls.size(); ++i) {
      const LoggedCall& call = logs[rank].calls[i];
      const double waited_s = call.enter_s + waits[rank].of_call[i];
      intervals.add(call.enter_s, waited_s, &shares.waiting[row * RankShares::intervals]);
      intervals.add(waited_s, call.exit_s, &shares.transfer[row * RankShares::intervals]);
    }
  }
  shares.path = ranks_on(path.pieces, begin_s, end_s);
  round_all(shares.waiting);
  round_all(shares.transfer);
  return shares;
}

}  // namespace commlens::replay
