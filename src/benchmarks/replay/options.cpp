#include "benchmarks/replay/options.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "benchmarks/replay/scaling.hpp"
#include "transport/communicator.hpp"

namespace commlens::replay {
namespace {

/// What is read of a file, or why it is not.
struct Content {
  std::string text;
  std::string problem;
};

Content read(const std::string& file) {
  constexpr std::uintmax_t most = 2'000'000'000;  // that one message broadcasts
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {.text = {}, .problem = "there is no such file"};
  if (std::filesystem::file_size(file, error) > most) return {.text = {}, .problem = "it is larger than 2 GB"};
  std::ifstream stream(file, std::ios::binary);
  Content content{.text = std::string(std::istreambuf_iterator<char>(stream), {}), .problem = {}};
  if (!stream) content.problem = "it cannot be read";
  return content;
}

/// By one rank for all of them: the file is on one file system, which a thousand readers would slow down, or on that
/// of one node.
Content read_on_one_rank(const std::string& file) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) return read(file);
  const transport::Communicator world(MPI_COMM_WORLD);
  Content content;
  if (world.rank() == 0) content = read(file);
  content.problem = world.broadcast(content.problem);
  content.text = world.broadcast(content.text);
  return content;
}

/// Of each body, for a rank that executes it.
void require_sound_bodies(const Trace& trace) {
  std::set<std::size_t> known;
  for (std::size_t rank = 0; rank < trace.ranks; ++rank) {
    if (known.insert(trace.of_rank[rank].body).second) const Program program(trace, rank);
  }
}

}  // namespace

void Options::describe(OptionSet& options) {
  options
      .add_text(
          "trace", [this](const std::string& text) { file = text; },
          [this] { return file.empty() ? std::string("none") : file; },
          "the trace to replay, which `commlens profile --trace` writes")
      .recorded_as([this]() -> std::optional<measure::Value> {
        if (!trace_) return std::nullopt;
        return name();
      });
  options.add("gaps", gaps, "between calls: a busy loop for the program's CPU time, one for its wall time, or nothing");
  options
      .add("scale-bytes", scale_bytes, {.least = 1e-6, .most = 1e6, .fix = {}},
           "times the elements of each message and collective, such as 0.5 or 4")
      .recorded_as([this]() -> std::optional<measure::Value> {
        if (scale_bytes == 1) return std::nullopt;
        return scale_bytes;
      });
  options
      .add_flag("pack", "contiguous", pack,
                "replay elements of derived types in as many pieces as the program had them")
      .recorded_as([this]() -> std::optional<measure::Value> {
        if (!pack) return std::nullopt;
        return true;
      });
  options.add_flag("allow-partial", "whole", allow_partial,
                   "replay also a program that was ended, or whose MPI time was mostly in calls that are not replayed");
}

std::string Options::name() const {
  return fmt::format("{} ({:08x})", std::filesystem::path(file).filename().string(), trace_->checksum);
}

void Options::resolve(int ranks) {
  if (file.empty()) throw UsageError("trace", "", "name a file that `commlens profile --trace` has written");
  Content content = read_on_one_rank(file);
  if (!content.problem.empty()) throw UsageError("trace", file, content.problem);
  try {
    Trace trace = parse_trace(std::move(content.text), file);
    spread(trace, ranks);
    if (scale_bytes != 1) replay::scale_bytes(trace, scale_bytes);
    for (TraceType& type : trace.types) type.pieces = pack ? type.pieces : 1;
    trace_ = std::make_shared<const Trace>(std::move(trace));
    recorded_ = std::make_shared<const Recorded>(replay::recorded(*trace_));
    require_sound_bodies(*trace_);
  } catch (const TraceError& error) {
    throw UsageError(std::string("--trace ") + error.what());
  }
  require_whole();
}

/// To as many ranks as there are, if the trace is uniform.
void Options::spread(Trace& trace, int ranks) const {
  const auto wanted = static_cast<std::size_t>(std::max(ranks, 0));
  if (wanted == 0 || wanted == trace.ranks) return;
  const auto& of_rank = trace.of_rank;
  const bool are_alike = std::all_of(of_rank.begin(), of_rank.end(),
                                     [&](const TraceRank& own) { return own.body == of_rank.front().body; });
  const bool is_uniform = trace.least_ranks > 0 && are_alike;
  if (is_uniform && wanted >= trace.least_ranks) return trace.spread(wanted);
  throw UsageError("trace", file,
                   fmt::format("it is a trace of {}; start {}, not {}", counted(trace.ranks, "rank"),
                               is_uniform ? fmt::format("{} or more", trace.least_ranks) : "as many", ranks));
}

void Options::require_whole() const {
  if (allow_partial) return;
  if (!trace_->complete) {
    throw UsageError("trace", file,
                     "the program did not come to its end, or not all of its calls were recorded, so that ranks may "
                     "wait for calls that are missing; --allow-partial replays what there is");
  }
  if (not_replayed() <= most_not_replayed) return;
  throw UsageError(
      "trace", file,
      fmt::format("{:.1f}% of the program's MPI time was in calls that are not replayed, most of it in {}; "
                  "--allow-partial replays the others",
                  100 * not_replayed(), recorded_->not_replayed));
}

double Options::not_replayed() const {
  return recorded_->call_s > 0 ? recorded_->not_replayed_s / recorded_->call_s : 0;
}

std::vector<std::string> Options::scale_to_memory(const MemoryBudget& budget, int /*ranks*/) {
  on_gpu_ = budget.on_gpu;
  return {};
}

/// With buffers on the GPU any transport may need the stage, elsewhere `staged` does.
MemoryEstimate Options::memory_estimate(int rank, int /*ranks*/) const {
  const Program program(*trace_, static_cast<std::size_t>(rank));
  const auto bytes = static_cast<double>(program.bytes() + 1);
  return {.buffers = bytes, .staging = on_gpu_ ? bytes : 0, .operation = on_gpu_ ? 0 : bytes};
}

}  // namespace commlens::replay
