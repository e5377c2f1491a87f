#include "harness/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "measure/record_json.hpp"

namespace commlens {

Output::Output(const std::string& file, const std::string& format) {
  if (!file.empty()) file_.emplace(file);
  const auto& all = measure::reporters();
  reporter_ =
      std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == format; })->make(std::cout);
}

void Output::begin(const measure::Start& start) {
  start_ = start;
  if (file_) file_->append(measure::start_line(start_));
  reporter_->begin(start_);
}

void Output::keep(const measure::Result& result) {
  if (file_) file_->append(measure::record_line(start_, result));
}

void Output::end() {
  reporter_->end();
  std::cout.flush();
  if (!std::cout) throw Error("standard output cannot be written");
}

namespace {

Json metadata(const char* kind, int process, int track, const std::string& name) {
  return {{"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

TimelineFile::TimelineFile(std::string path) : path_(std::move(path)), events_(std::make_unique<Json>(Json::array())) {
  std::string beginning;
  if (std::filesystem::is_regular_file(path_)) std::getline(std::ifstream(path_), beginning, ',');
  if (!beginning.empty() && beginning != R"({"displayTimeUnit":"ms")") {
    throw Error("commlens did not write this file as a timeline; name another one");
  }
  write();
}

TimelineFile::~TimelineFile() = default;

void TimelineFile::add(const std::string& title, const measure::Timeline& timeline) {
  std::map<std::string, int> tracks;
  int ranks = 0;
  for (const measure::Span& span : timeline.spans) {
    const int process = processes_ + span.rank;
    if (span.rank >= ranks) {
      events_->push_back(metadata("process_name", process, 0, fmt::format("{}, rank {}", title, span.rank)));
      ranks = span.rank + 1;
      tracks.clear();
    }
    const auto [track, is_new] = tracks.try_emplace(span.stream, static_cast<int>(tracks.size()));
    if (is_new) events_->push_back(metadata("thread_name", process, track->second, span.stream));
    events_->push_back({{"ph", "X"},
                        {"name", fmt::format("{} {}", span.part, span.step)},
                        {"cat", span.part},
                        {"pid", process},
                        {"tid", track->second},
                        {"ts", span.start_s * 1e6},
                        {"dur", (span.end_s - span.start_s) * 1e6}});
  }
  processes_ += ranks;
  write();
}

void TimelineFile::write() const {
  std::ofstream file(path_);
  file << line_of({{"displayTimeUnit", "ms"}, {"traceEvents", *events_}}) << '\n';
  file.close();
  if (!file) throw Error(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace commlens
