#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {
namespace {

constexpr std::string_view first_line = "commlens trace 1\n";

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0U);
    table[byte] = value;
  }
  return table;
}

/// What is wrong with a block; read() adds the file's name and the block's place.
class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the content of a block, and never beyond it.
class Reader {
 public:
  explicit Reader(std::string_view content) : content_(content) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == content_.size(); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_end()) throw Damage("it ends within a number");
      const auto byte = static_cast<unsigned char>(content_[position_++]);
      const std::uint64_t bits = byte & 0x7FU;
      if (shift > 63 || (shift == 63 && bits > 1)) throw Damage("a number has more than 64 bits");
      value |= bits << shift;
      if ((byte & 0x80U) == 0) return value;
    }
  }

  std::int64_t signed_number() {
    const std::uint64_t value = number();
    const auto half = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -half - 1 : half;
  }

  /// Below `limit`; `what` names it.
  std::size_t index(std::size_t limit, const char* what) {
    const std::uint64_t value = number();
    if (value >= limit) throw Damage(fmt::format("it names {} {} of {}", what, value, limit));
    return static_cast<std::size_t>(value);
  }

  /// Of a list, whose items take a byte at least: no more than there is room for.
  std::size_t length() {
    const std::uint64_t value = number();
    if (value > content_.size() - position_) throw Damage("a list is longer than the block");
    return static_cast<std::size_t>(value);
  }

  std::string text() {
    const std::size_t bytes = length();
    position_ += bytes;
    return std::string(content_.substr(position_ - bytes, bytes));
  }

 private:
  std::string_view content_;
  std::size_t position_ = 0;
};

std::int64_t not_negative(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) throw Damage("a size is too large");
  return static_cast<std::int64_t>(value);
}

/// Of a leaf that was executed so often.
LeafTimes read_times(Reader& reader, std::uint64_t count) {
  LeafTimes times{.count = count, .calls = count};
  const std::uint64_t coded = reader.number();
  times.gap_ns = coded >> 1;
  if ((coded & 1) != 0) {
    const std::uint64_t more = reader.number();
    if (more > std::numeric_limits<std::uint64_t>::max() - count) throw Damage("a number of calls is too large");
    times.calls += more;
  }
  times.gap_cpu_ns = times.gap_ns - static_cast<std::uint64_t>(reader.signed_number());
  times.call_ns = reader.number();
  times.longest_gap_ns = times.calls > 1 ? reader.number() : times.gap_ns;
  times.longest_call_ns = times.calls > 1 ? reader.number() : times.call_ns;
  return times;
}

void read_exact(Reader& reader, std::vector<ExactGap>& gaps) {
  for (std::size_t left = reader.length(); left > 0; --left) {
    const std::uint64_t gap = reader.number();
    gaps.push_back({.gap_ns = gap, .gap_cpu_ns = gap - static_cast<std::uint64_t>(reader.signed_number())});
    reader.number();  // of the call
  }
}

class TraceReader {
 public:
  TraceReader(std::string content, const std::string& file) {
    trace_.file = file;
    trace_.content = std::move(content);
  }

  Trace read() {
    const std::string_view content = trace_.content;
    trace_.checksum = crc32(content);
    if (!content.starts_with(first_line)) {
      fail(content.starts_with("commlens trace ") ? "it is a trace of another version: this program reads version 1"
                                                  : "it is not a trace (`commlens profile --trace` writes one)");
    }
    std::size_t position = first_line.size();
    while (position < content.size()) {
      const auto block = block_at(position);
      if (!block) {
        trace_.cut = true;
        break;
      }
      try {
        begin_ = position + header;
        read_block(content[position], *block);
      } catch (const Damage& damage) {
        fail(fmt::format("the block at byte {} is damaged: {}", position, damage.what()));
      }
      position += header + block->size();
    }
    require_all_ranks();
    return std::move(trace_);
  }

 private:
  static constexpr std::size_t header = 9;  ///< of a block: type, length, checksum

  [[noreturn]] void fail(const std::string& problem) const { throw TraceError(trace_.file + ": " + problem); }

  [[nodiscard]] std::uint32_t word_at(std::size_t position) const {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(trace_.content[position + i]);
    return value;
  }

  /// The content of the block; nothing where the file ends within it.
  [[nodiscard]] std::optional<std::string_view> block_at(std::size_t position) const {
    const std::string_view content = trace_.content;
    if (content.size() - position < header) return std::nullopt;
    const std::size_t bytes = word_at(position + 1);
    if (content.size() - position - header < bytes) return std::nullopt;
    const auto block = content.substr(position + header, bytes);
    if (crc32(block, crc32(content.substr(position, 1))) != word_at(position + 5)) {
      fail(fmt::format("the block at byte {} is damaged: its checksum is another one", position));
    }
    return block;
  }

  void read_block(char kind, std::string_view block) {
    Reader reader(block);
    if (kind != 'H' && !has_header_) throw Damage("the first block is no header");
    switch (kind) {
      case 'H':
        read_header(reader.text());
        break;
      case 'F':
      case 'O':
      case 'T':
      case 'A':
      case 'E':
        read_list(kind, reader);
        break;
      case 'B':
        read_body(reader);
        break;
      case 'R':
        read_rank(reader);
        break;
      case 'X':
        read_exact_times(reader);
        break;
      default:
        throw Damage("there are no blocks of its type in version 1");
    }
    if (!reader.at_end()) throw Damage("there is more in it than its list");
  }

  void read_header(const std::string& text) {
    const auto json = json_in(text);
    if (has_header_ || !json || !json->is_object()) throw Damage("it is not the header");
    has_header_ = true;
    const auto ranks = json->find("ranks");
    if (ranks == json->end() || !ranks->is_number_unsigned() || ranks->get<std::uint64_t>() == 0) {
      throw Damage("the header has no number of ranks");
    }
    if (ranks->get<std::uint64_t>() > trace_.content.size()) throw Damage("the file is too short for so many ranks");
    trace_.ranks = trace_.recorded_ranks = ranks->get<std::size_t>();
    const auto least = json->find("least_ranks");
    if (least != json->end() && least->is_number_unsigned()) trace_.least_ranks = least->get<std::size_t>();
    if (const auto seconds = json->find("seconds"); seconds != json->end() && seconds->is_number()) {
      trace_.seconds = seconds->get<double>();
    }
    const auto complete = json->find("complete");
    trace_.complete = complete != json->end() && complete->is_boolean() && complete->get<bool>();
    if (const auto dropped = json->find("dropped"); dropped != json->end() && dropped->is_array()) {
      for (const auto& count : *dropped) {
        if (!count.is_number() || count.get<double>() != 0) trace_.complete = false;
      }
    }
  }

  void read_list(char kind, Reader& reader) {
    if (!trace_.bodies.empty()) throw Damage("it comes after the first body");
    for (std::size_t left = reader.length(); left > 0; --left) {
      if (kind == 'F') {
        const std::string text = reader.text();
        const std::size_t blank = std::min(text.find(' '), text.size());
        trace_.functions.push_back({text.substr(0, blank), text.substr(std::min(blank + 1, text.size()))});
      } else if (kind == 'O') {
        trace_.operations.push_back(reader.text());
      } else if (kind == 'T') {
        trace_.types.push_back(read_type(reader));
      } else if (kind == 'A') {
        trace_.arrays.push_back(read_numbers(reader));
      } else {
        TraceEvent event;
        event.function = reader.index(trace_.functions.size(), "function");
        event.fields = read_numbers(reader);
        if (event.fields.size() != trace_.functions[event.function].fields.size()) {
          throw Damage("a call has not as many fields as its function");
        }
        trace_.events.push_back(std::move(event));
      }
    }
  }

  static TraceType read_type(Reader& reader) {
    TraceType type;
    type.name = reader.text();
    type.size = not_negative(reader.number());
    type.lower_bound = reader.signed_number();
    type.extent = not_negative(reader.number());
    type.pieces = not_negative(reader.number());
    return type;
  }

  static std::vector<std::int64_t> read_numbers(Reader& reader) {
    std::vector<std::int64_t> numbers(reader.length());
    for (auto& number : numbers) number = reader.signed_number();
    return numbers;
  }

  void read_body(Reader& reader) {
    Body body;
    read_nodes(reader, body, 1, 0);
    if (body.nodes.size() > std::numeric_limits<std::uint32_t>::max()) throw Damage("a body has too many nodes");
    trace_.bodies.push_back(std::move(body));
  }

  void read_nodes(Reader& reader, Body& body, std::uint64_t executions, std::size_t depth) {
    if (depth > deepest_loop) throw Damage(fmt::format("loops are nested more than {} deep", deepest_loop));
    const std::size_t nodes = reader.length();
    if (depth > 0 && nodes == 0) throw Damage("a loop is empty");
    for (std::size_t i = 0; i < nodes; ++i) {
      const std::uint64_t n = reader.number();
      if (n % 2 == 1) {
        const std::uint64_t event = n / 2;
        if (event >= trace_.events.size()) {
          throw Damage(fmt::format("it names event {} of {}", event, trace_.events.size()));
        }
        body.nodes.push_back(
            {.event = static_cast<std::uint32_t>(event), .leaf = static_cast<std::uint32_t>(body.executions.size())});
        body.executions.push_back(executions);
        continue;
      }
      const std::uint64_t times = n / 2;
      if (times == 0 || executions > std::numeric_limits<std::uint64_t>::max() / times) {
        throw Damage("a loop is executed never or too often");
      }
      const std::size_t loop = body.nodes.size();
      body.nodes.push_back({.times = times});
      read_nodes(reader, body, executions * times, depth + 1);
      body.nodes[loop].length = static_cast<std::uint32_t>(body.nodes.size() - loop - 1);
    }
  }

  void read_rank(Reader& reader) {
    if (trace_.of_rank.empty()) trace_.of_rank.resize(trace_.ranks, {.body = none});
    const std::size_t rank = reader.index(trace_.ranks, "rank");
    if (trace_.of_rank[rank].body != none) throw Damage(fmt::format("rank {} has a trace before", rank));
    TraceRank entry;
    entry.body = reader.index(trace_.bodies.size(), "body");
    const auto& executions = trace_.bodies[entry.body].executions;
    entry.times_begin = begin_ + reader.position();
    for (const std::uint64_t count : executions) read_times(reader, count);
    trace_.of_rank[rank] = entry;
  }

  void read_exact_times(Reader& reader) {
    const std::size_t rank = reader.index(trace_.of_rank.size(), "rank");
    if (trace_.of_rank[rank].body == none) throw Damage(fmt::format("rank {} has no trace before", rank));
    trace_.of_rank[rank].exact_begins.push_back(begin_ + reader.position());
    std::vector<ExactGap> gaps;
    read_exact(reader, gaps);
  }

  void require_all_ranks() const {
    const char* why = trace_.cut ? " (the file ends within a block: it was cut)" : "";
    if (!has_header_) fail(fmt::format("it has no header{}", why));
    for (std::size_t rank = 0; rank < trace_.ranks; ++rank) {
      if (!trace_.of_rank.empty() && trace_.of_rank[rank].body != none) continue;
      fail(fmt::format("rank {} of {} left no trace, so that the others would wait for it{}", rank, trace_.ranks, why));
    }
  }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  Trace trace_;
  std::size_t begin_ = 0;  ///< of the content of the block
  bool has_header_ = false;
};

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  static constexpr auto table = crc_table();
  std::uint32_t value = ~before;
  for (const char byte : bytes) value = (value >> 8) ^ table[(value ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~value;
}

Trace parse_trace(std::string content, const std::string& file) { return TraceReader(std::move(content), file).read(); }

void Trace::spread(std::size_t over) {
  ranks = over;
  of_rank.resize(recorded_ranks);
  for (std::size_t rank = recorded_ranks; rank < over; ++rank) of_rank.push_back(of_rank[rank % recorded_ranks]);
}

std::vector<LeafTimes> Trace::times(std::size_t rank) const {
  Reader reader(std::string_view(content).substr(of_rank[rank].times_begin));
  std::vector<LeafTimes> times;
  for (const std::uint64_t count : body(rank).executions) times.push_back(read_times(reader, count));
  return times;
}

std::vector<ExactGap> Trace::exact_gaps(std::size_t rank) const {
  std::vector<ExactGap> gaps;
  for (const std::size_t begin : of_rank[rank].exact_begins) {
    Reader reader(std::string_view(content).substr(begin));
    read_exact(reader, gaps);
  }
  return gaps;
}

}  // namespace commlens::replay
