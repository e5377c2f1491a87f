// What a benchmark says of itself: its parameters with their roles, its metrics and its facts. Written once per start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/metric.hpp"

namespace commlens::measure {

/// What a parameter is for, from which the key of a case follows (docs/records.md).
///   size     what a sweep runs over
///   setting  part of the case
///   derived  follows from other parameters, the ranks or the memory: not part of the key
///   variant  compared within a case: one start has records of several values
enum class Role { size, setting, derived, variant };
constexpr auto names_of(Role /*type*/) {
  return enum_names<Role>(
      {{Role::size, "size"}, {Role::setting, "setting"}, {Role::derived, "derived"}, {Role::variant, "variant"}});
}

struct ParameterDeclaration {
  std::string name;    ///< in records: "in_place"
  std::string option;  ///< on the command line, without the dashes: "in-place"
  Role role = Role::setting;
  std::string unit;  ///< "B", or empty
  std::string help;
  bool per_rank = false;  ///< with more ranks the problem grows: weak scaling
};

/// A fact that a benchmark counts or finds beside its times. Its texts live as long as the program.
struct Fact {
  std::string_view name;  ///< ends in the unit's ending
  Unit unit;
  std::string_view definition;
};

struct BenchmarkDeclaration {
  std::string name;
  std::string description;
  std::vector<ParameterDeclaration> parameters;
  std::vector<Metric> metrics;  ///< in the order in which they are shown; the first is the main metric
  std::vector<Fact> facts;
  /// The ranks divide the work of one problem, so that speed-up and efficiency against ranks mean something.
  bool divides_work = false;
};

/// The metrics with those that the harness adds: time_us at the end, if it is not among them.
std::vector<Metric> with_time(std::vector<Metric> metrics);

}  // namespace commlens::measure
