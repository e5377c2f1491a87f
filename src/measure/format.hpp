// Numbers for people.
#pragma once

#include <cstdint>
#include <string>

#include "measure/statistics.hpp"

namespace commlens::measure {

/// Writes numbers with the digits that suit the first of them: four or so, and the same for an interval as for its
/// median.
class NumberFormat {
 public:
  explicit NumberFormat(double example);
  [[nodiscard]] std::string operator()(double value) const;

 private:
  bool scientific_ = false;
  int decimals_ = 2;
};

/// "14.62 [14.55, 14.80]", the median in `width` characters; "14.62 [3 samples]" without an interval.
std::string with_interval(const Statistics& statistics, std::size_t width);

/// "12.3%"
std::string format_percent(double fraction);

/// Of a ceiling: "63.1%", below one percent "1/250".
std::string format_fraction(double fraction);

/// "4 MiB" or "80 MB" where that is exact, otherwise rounded to three digits: "76.3 MiB".
std::string format_bytes(std::int64_t bytes);
/// Of an estimate, rounded: "5.3 GiB".
std::string format_bytes(double bytes);

/// "1 rank", "2 ranks"
std::string counted(std::size_t count, const std::string& noun);

}  // namespace commlens::measure
