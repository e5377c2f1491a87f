#include "harness/output.hpp"

#include <algorithm>
#include <iostream>

#include "base/error.hpp"
#include "measure/record_json.hpp"

namespace commlens {

Output::Output(const std::string& file, const std::string& format) {
  if (!file.empty()) file_.emplace(file);
  const auto& all = measure::reporters();
  reporter_ =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == format; })->make(std::cout);
}

void Output::begin(const measure::Start& start) {
  start_ = start;
  if (file_) file_->append(measure::start_line(start_));
  reporter_->begin(start_);
}

void Output::keep(const measure::Result& result) {
  if (file_) file_->append(measure::record_line(start_, result));
}

void Output::show(std::span<const measure::Result> group) { reporter_->add(start_, group); }

void Output::end() {
  reporter_->end();
  std::cout.flush();
  if (!std::cout) throw Error("standard output cannot be written");
}

}  // namespace commlens
