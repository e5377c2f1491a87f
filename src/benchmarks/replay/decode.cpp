// From the fields of an event to the arguments of its call.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/replay/program.hpp"

namespace commlens::replay {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 50;

class Decoder {
 public:
  Decoder(const Trace& trace, const TraceEvent& event, const Function& function, std::size_t rank)
      : trace_(trace), event_(event), rank_(static_cast<std::int64_t>(rank)), call_(std::make_unique<Arguments>()) {
    call_->function = &function;
  }

  std::unique_ptr<Arguments> decode() {
    const auto& roles = call_->function->roles;
    if (event_.fields.size() != roles.size()) {
      fail(fmt::format("it has {} fields, must have {}", event_.fields.size(), roles.size()));
    }
    const std::string& letters = trace_.functions[event_.function].fields;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      take(roles[i], letters[i] == 'd' ? peer(event_.fields[i]) : event_.fields[i]);
    }
    if (letters.find('d') != std::string::npos && call_->communicator != 0)
      fail("it has distances in a communicator other than MPI_COMM_WORLD");
    finish(call_->send);
    finish(call_->receive);
    for (const std::int64_t index : call_->indices) require_index(index);
    if (call_->index >= 0) require_index(call_->index);
    require_arrays();
    return std::move(call_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw TraceError(fmt::format("{}: a call of {} is damaged: {}", trace_.file, call_->function->name, problem));
  }

  void require_within(std::int64_t value, std::int64_t least, std::int64_t most, const char* what) const {
    if (value < least || value > most) fail(fmt::format("{} {} is not from {} to {}", what, value, least, most));
  }
  [[nodiscard]] std::int64_t within(std::int64_t value, std::int64_t least, std::int64_t most, const char* what) const {
    require_within(value, least, most, what);
    return value;
  }
  [[nodiscard]] int number(std::int64_t value, const char* what) const {
    return static_cast<int>(within(value, INT_MIN, INT_MAX, what));
  }
  /// Slots and communicators are numbered from the smallest that is free, by calls that are events.
  [[nodiscard]] std::int64_t slot(std::int64_t value) const {
    return within(value, -1, static_cast<std::int64_t>(trace_.events.size()), "the slot");
  }
  [[nodiscard]] std::int64_t communicator(std::int64_t value) const {
    return within(value, -1, static_cast<std::int64_t>(trace_.events.size()) + 1, "the communicator");
  }
  [[nodiscard]] std::size_t type(std::int64_t value) const {
    require_within(value, -1, static_cast<std::int64_t>(trace_.types.size()) - 1, "the type");
    return value < 0 ? Side::no_type : static_cast<std::size_t>(value);
  }
  /// One that is not significant may be anything.
  [[nodiscard]] std::int64_t count(std::int64_t value) const {
    return std::max<std::int64_t>(
        0, within(value, INT64_MIN, call_->function->is_large ? most_elements : INT_MAX, "the count"));
  }
  [[nodiscard]] int rank(std::int64_t value) const {
    if (value == -1) return MPI_PROC_NULL;
    if (value == -2) return MPI_ANY_SOURCE;
    if (value == -3) return MPI_ROOT;
    return number(within(value, 0, INT_MAX, "the rank"), "the rank");
  }
  /// At a distance; on other numbers of ranks than the program had, the shorter way.
  [[nodiscard]] std::int64_t peer(std::int64_t distance) const {
    if (distance < 0) return distance;  // no rank
    const auto recorded = static_cast<std::int64_t>(trace_.recorded_ranks);
    const auto ranks = static_cast<std::int64_t>(trace_.ranks);
    require_within(distance, 0, recorded - 1, "the distance");
    if (2 * distance > recorded) distance -= recorded;
    return (rank_ + within(distance, -ranks, ranks, "the distance") + ranks) % ranks;
  }
  [[nodiscard]] int tag(std::int64_t value) const {
    return value == -1 ? MPI_ANY_TAG : number(within(value, 0, INT_MAX, "the tag"), "");
  }

  void require_array(std::int64_t value) const {
    require_within(value, -1, static_cast<std::int64_t>(trace_.arrays.size()) - 1, "the array");
  }
  /// Empty: it is not significant.
  [[nodiscard]] std::vector<std::int64_t> array(std::int64_t value) const {
    require_array(value);
    return value < 0 ? std::vector<std::int64_t>() : trace_.arrays[static_cast<std::size_t>(value)];
  }
  [[nodiscard]] std::vector<int> numbers(std::int64_t value, const char* what) const {
    std::vector<int> numbers;
    for (const std::int64_t entry : array(value)) numbers.push_back(number(entry, what));
    return numbers;
  }

  void take(Role role, std::int64_t value) {
    Arguments& call = *call_;
    switch (role) {
      case Role::send_buffer:
      case Role::send_count:
      case Role::send_counts:
      case Role::send_displacements:
      case Role::send_type:
      case Role::send_types:
        take(call.send, static_cast<int>(role) - static_cast<int>(Role::send_buffer), value);
        break;
      case Role::receive_buffer:
      case Role::receive_count:
      case Role::receive_counts:
      case Role::receive_displacements:
      case Role::receive_type:
      case Role::receive_types:
        take(call.receive, static_cast<int>(role) - static_cast<int>(Role::receive_buffer), value);
        break;
      case Role::both_count:
        call.send.count = call.receive.count = count(value);
        break;
      case Role::both_type:
        call.send.type_number = call.receive.type_number = type(value);
        break;
      default:
        take_other(role, value);
    }
  }

  /// `field` counts from the side's buffer.
  void take(Side& side, int field, std::int64_t value) {
    side.is_used = true;
    switch (static_cast<Role>(field)) {
      case Role::send_buffer:
        side.in_place = within(value, 0, 2, "the buffer") == 1;
        break;
      case Role::send_count:
        side.count = count(value);
        break;
      case Role::send_counts:
        side.has_counts = true;
        for (const std::int64_t entry : array(value)) side.wide_counts.push_back(count(entry));
        break;
      case Role::send_type:
        side.type_number = type(value);
        break;
      case Role::send_types:
        for (const std::int64_t entry : array(value)) side.type_numbers.push_back(type(entry));
        break;
      default:  // displacements: blocks have places of ours
        require_array(value);
    }
  }

  void take_other(Role role, std::int64_t value) {
    Arguments& call = *call_;
    switch (role) {
      case Role::dest:
        call.dest = rank(value);
        break;
      case Role::source:
        call.source = rank(value);
        break;
      case Role::root:
        call.root = rank(value);
        break;
      case Role::send_tag:
        call.send_tag = tag(value);
        break;
      case Role::receive_tag:
        call.receive_tag = tag(value);
        break;
      case Role::operation:
        require_within(value, -1, static_cast<std::int64_t>(trace_.operations.size()) - 1, "the operation");
        call.operation_number = value < 0 ? Arguments::no_operation : static_cast<std::size_t>(value);
        break;
      case Role::communicator:
        call.communicator = communicator(value);
        break;
      case Role::second_communicator:
        call.second_communicator = communicator(value);
        break;
      case Role::made_communicator:
        call.made_communicator = communicator(value);
        if (value == 0 || value == 1) fail("it makes MPI_COMM_WORLD or MPI_COMM_SELF");
        break;
      case Role::request:
      case Role::made_request:
        call.request = slot(value);
        break;
      case Role::message:
      case Role::made_message:
        call.message = slot(value);
        break;
      default:
        take_rest(role, value);
    }
  }

  void take_rest(Role role, std::int64_t value) {
    Arguments& call = *call_;
    switch (role) {
      case Role::requests:
        for (const std::int64_t entry : array(value)) call.requests.push_back(slot(entry));
        break;
      case Role::group:
        call.group = numbers(value, "the rank");
        for (const int member : call.group)
          require_within(member, 0, static_cast<std::int64_t>(trace_.ranks) - 1, "the rank");
        break;
      case Role::number:
        call.numbers.push_back(number(value, "the number"));
        break;
      case Role::array:
        call.arrays.push_back(numbers(value, "the number"));
        break;
      case Role::flag:
        call.flag = value;
        break;
      case Role::index:
        call.index = within(value, -1, INT_MAX, "the index");
        break;
      case Role::indices:
        call.indices = array(value);
        break;
      default:
        break;
    }
  }

  /// Places its blocks one after the other.
  void finish(Side& side) const {
    if (!side.has_counts) return;
    const bool has_types = !side.type_numbers.empty();
    if (has_types && side.type_numbers.size() != side.wide_counts.size()) fail("there are not as many types as counts");
    std::int64_t elements = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < side.wide_counts.size(); ++i) {
      const std::int64_t count = side.wide_counts[i];
      const auto place = has_types ? static_cast<std::int64_t>(bytes) : elements;
      side.wide_displacements.push_back(place);
      if (!call_->function->is_large) {
        side.counts.push_back(static_cast<int>(count));
        if (!takes_wide_displacements(has_types)) {
          side.displacements.push_back(static_cast<int>(within(place, 0, INT_MAX, "a displacement")));
        }
      }
      elements = within(elements + count, 0, most_elements, "a sum of counts");
      const TraceType type = type_of(has_types ? side.type_numbers[i] : side.type_number);
      const std::size_t block = span(count, type);
      side.data_bytes += static_cast<std::size_t>(count * type.size);
      if (has_types) bytes += aligned(block);
    }
    side.packed = has_types ? bytes : span(elements, type_of(side.type_number));
  }

  [[nodiscard]] bool takes_wide_displacements(bool has_types) const {
    return has_types && is_neighbor(call_->function->pattern);
  }

  [[nodiscard]] TraceType type_of(std::size_t number) const {
    return number == Side::no_type ? TraceType() : trace_.types[number];
  }

  void require_index(std::int64_t index) const {
    require_within(index, 0, static_cast<std::int64_t>(call_->requests.size()) - 1, "the index");
  }

  /// MPI reads as many numbers as others say.
  void require_arrays() const {
    if (call_->function->pattern != Pattern::make_communicator) return;
    const auto& name = call_->function->name;
    const auto require = [&](std::size_t array, std::int64_t length) {
      if (std::cmp_less(call_->arrays[array].size(), length)) fail("an array is too short");
    };
    const auto& numbers = call_->numbers;
    if (name == "MPI_Cart_create") {
      require(0, numbers[0]);
      require(1, numbers[0]);
    } else if (name == "MPI_Graph_create") {
      require(0, numbers[0]);
      require(1, call_->arrays[0].empty() ? 0 : call_->arrays[0].back());
    } else if (name == "MPI_Dist_graph_create_adjacent") {
      require(0, numbers[0]);
      require(1, numbers[1]);
    } else if (name == "MPI_Dist_graph_create") {
      std::int64_t edges = 0;
      for (const int degree : call_->arrays[1]) edges += degree;
      for (const std::size_t array : {0, 1}) require(array, numbers[0]);
      require(2, edges);
    }
  }

  const Trace& trace_;
  const TraceEvent& event_;
  std::int64_t rank_;
  std::unique_ptr<Arguments> call_;
};

}  // namespace

std::unique_ptr<Arguments> decode(const Trace& trace, const TraceEvent& event, std::size_t rank) {
  const std::string& name = trace.functions[event.function].name;
  if (event.fields.empty()) return nullptr;
  const Function* const function = find_function(name);
  if (function != nullptr) return Decoder(trace, event, *function, rank).decode();
  if (!is_replayed(name)) return nullptr;
  throw TraceError(fmt::format("{}: the program calls {}, which this MPI library does not have", trace.file, name));
}

const Function* find_function(std::string_view name) {
  const auto all = functions();
  const auto find = [&](std::string_view wanted) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Function& own) { return own.name == wanted; });
    return found == all.end() ? nullptr : &*found;
  };
  const Function* const found = find(name);
  if (found != nullptr || !name.ends_with("_c")) return found;
  return find(name.substr(0, name.size() - 2));
}

}  // namespace commlens::replay
