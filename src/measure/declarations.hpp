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
ENUM_NAMES(Role, {size, "size"}, {setting, "setting"}, {derived, "derived"}, {variant, "variant"});

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

/// How a program that others know prints the same measurement, for what reads its output. Its texts live as long as
/// the program.
struct ClassicLayout {
  struct Column {
    std::string_view heading;
    std::string_view metric;
    double scale = 1;  ///< from the metric's unit to the heading's
  };
  std::string_view format;  ///< the reporter that prints it: "osu"
  std::string_view title;   ///< what the program names its measurement
  std::vector<Column> columns;
  bool point_to_point = false;    ///< the heading names where each side's buffer lies
  bool pairs = false;             ///< and how many pairs of ranks there are
  std::string_view call = "MPI";  ///< what the program names before the title
  bool one_sided = false;         ///< the heading names the window's creation and the synchronization
  bool of_array = false;          ///< its sizes are of all blocks, by which the algorithm bandwidth is defined
  bool has_size = true;
};

struct BenchmarkDeclaration {
  std::string name;
  std::string description;
  std::vector<ParameterDeclaration> parameters;
  std::vector<Metric> metrics;  ///< in the order in which they are shown; the first is the main metric
  std::vector<Fact> facts;
  /// The ranks divide the work of one problem, so that speed-up and efficiency against ranks mean something.
  bool divides_work = false;
  std::vector<ClassicLayout> classic;  ///< one for each classic format that it can be printed in

  /// nullptr: there is none of this format.
  [[nodiscard]] const ClassicLayout* classic_layout(std::string_view format) const;
};

/// The metrics with those that the harness adds: time_us at the end, if it is not among them.
std::vector<Metric> with_time(std::vector<Metric> metrics);

}  // namespace commlens::measure
