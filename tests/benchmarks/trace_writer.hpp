// Writes traces (docs/trace.md) in memory, for tests of what reads and executes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

class TraceWriter {
 public:
  using Fields = std::vector<std::int64_t>;

  explicit TraceWriter(std::size_t ranks) : bodies_(ranks) {}

  /// Numbers of what is in the file once, however often it is named.
  std::int64_t type(const std::string& name, std::uint64_t size, std::uint64_t extent = 0, std::uint64_t pieces = 1) {
    return number_of(types_, text(name) + number(size) + number(0) + number(std::max(size, extent)) + number(pieces));
  }
  std::int64_t operation(const std::string& name) { return number_of(operations_, text(name)); }
  std::int64_t array(const Fields& values) { return number_of(arrays_, list_of(values)); }

  /// What follows is of this rank.
  void rank(std::size_t rank) { sequence_ = &bodies_[rank]; }
  /// `function` is the name with the letters of the fields; `calls` are those that an execution stands for, `more`
  /// those of all executions beyond.
  void call(const std::string& function, const Fields& fields, std::uint64_t calls = 1, std::uint64_t more = 0) {
    const std::int64_t of = number_of(functions_, text(function));
    const std::int64_t event = number_of(events_, number(static_cast<std::uint64_t>(of)) + list_of(fields));
    sequence_->push_back({.event = static_cast<std::uint64_t>(event), .calls = calls, .more = more});
  }
  void loop(std::uint64_t times, const std::function<void()>& body) {
    auto* const outer = sequence_;
    Sequence inner;
    sequence_ = &inner;
    body();
    sequence_ = outer;
    sequence_->push_back({.times = times, .body = std::move(inner)});
  }

  bool is_complete = true;
  std::size_t least_ranks = 0;  ///< not 0: in the header
  std::uint64_t call_ns = 1000;
  std::uint64_t gap_ns = 0;
  std::vector<std::vector<std::uint64_t>> exact_gaps_ns;  ///< by rank: of each execution from the first on

  [[nodiscard]] std::string content() const {
    std::string content = "commlens trace 1\n";
    content += block('H', text("{\"ranks\":" + std::to_string(bodies_.size()) +
                               ",\"mpi\":\"\",\"seconds\":1.5,\"complete\":" + (is_complete ? "true" : "false") +
                               (least_ranks > 0 ? ",\"least_ranks\":" + std::to_string(least_ranks) : "") +
                               ",\"events\":[],\"dropped\":[],\"unit_ns\":1}"));
    const auto add = [&](char kind, const std::vector<std::string>& items) { content += block(kind, list(items)); };
    add('F', functions_);
    add('O', operations_);
    add('T', types_);
    add('A', arrays_);
    add('E', events_);
    std::vector<std::string> bodies;
    std::string ranks;
    for (std::size_t rank = 0; rank < bodies_.size(); ++rank) {
      std::string times;
      add_times(bodies_[rank], 1, times);
      const auto body = static_cast<std::uint64_t>(number_of(bodies, nodes(bodies_[rank])));
      ranks += block('R', number(rank) + number(body) + times);
      if (!exact_gaps_ns.empty()) ranks += exact_blocks(rank);
    }
    for (const std::string& body : bodies) content += block('B', body);
    return content + ranks;
  }

  static std::string block(char kind, const std::string& content) {
    const std::uint32_t checksum = crc32(content, crc32(std::string(1, kind)));
    return kind + word(static_cast<std::uint32_t>(content.size())) + word(checksum) + content;
  }

 private:
  struct Item {
    std::uint64_t event = 0;
    std::uint64_t calls = 1;
    std::uint64_t more = 0;
    std::uint64_t times = 0;  ///< of a loop
    std::vector<Item> body = {};
  };
  using Sequence = std::vector<Item>;

  static std::int64_t number_of(std::vector<std::string>& known, const std::string& item) {
    const auto place = std::find(known.begin(), known.end(), item);
    const auto number = place - known.begin();
    if (place == known.end()) known.push_back(item);
    return number;
  }

  static std::string word(std::uint32_t value) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  }
  static std::string number(std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value % 128 + 128);
    return bytes + static_cast<char>(value);
  }
  static std::string signed_number(std::int64_t value) {
    const auto twice = static_cast<std::uint64_t>(value < 0 ? -value : value) * 2;
    return number(value < 0 ? twice - 1 : twice);
  }
  static std::string text(const std::string& value) { return number(value.size()) + value; }
  static std::string list(const std::vector<std::string>& items) {
    std::string all = number(items.size());
    for (const std::string& item : items) all += item;
    return all;
  }
  static std::string list_of(const Fields& values) {
    std::vector<std::string> items;
    for (const std::int64_t value : values) items.push_back(signed_number(value));
    return list(items);
  }
  static std::string nodes(const Sequence& sequence) {
    std::vector<std::string> items;
    for (const Item& item : sequence) {
      items.push_back(item.times > 0 ? number(2 * item.times) + nodes(item.body) : number(2 * item.event + 1));
    }
    return list(items);
  }
  /// Of two executions each, as a list may continue in the next block.
  [[nodiscard]] std::string exact_blocks(std::size_t rank) const {
    const std::vector<std::uint64_t>& gaps = exact_gaps_ns[rank];
    std::string blocks;
    for (std::size_t begin = 0; begin < gaps.size(); begin += 2) {
      std::vector<std::string> items;
      for (std::size_t i = begin; i < std::min(begin + 2, gaps.size()); ++i) {
        items.push_back(number(gaps[i]) + signed_number(0) + number(call_ns));
      }
      blocks += block('X', number(rank) + list(items));
    }
    return blocks;
  }
  void add_times(const Sequence& sequence, std::uint64_t executions, std::string& times) const {
    for (const Item& item : sequence) {
      if (item.times > 0) {
        add_times(item.body, executions * item.times, times);
      } else {
        const std::uint64_t more = executions * (item.calls - 1) + item.more;
        times += number(2 * executions * gap_ns + (more > 0 ? 1 : 0));
        if (more > 0) times += number(more);
        times += signed_number(0) + number(executions * call_ns);
        if (executions + more > 1) times += number(gap_ns) + number(call_ns);
      }
    }
  }

  std::vector<std::string> functions_;
  std::vector<std::string> operations_;
  std::vector<std::string> types_;
  std::vector<std::string> arrays_;
  std::vector<std::string> events_;
  std::vector<Sequence> bodies_;
  Sequence* sequence_ = nullptr;
};

}  // namespace commlens::replay
