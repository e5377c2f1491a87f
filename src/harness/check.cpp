#include "harness/check.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/usage_error.hpp"
#include "harness/command_line.hpp"

namespace commlens {

using Json = nlohmann::json;

namespace {

std::string mistake_in(const Json& one) {
  const auto words = one.at("words").get<std::vector<std::string>>();
  try {
    const CommandLine line = parse(words, "commlens run");
    if (line.benchmark == nullptr) return "--help: it measures nothing; leave it out";
    line.benchmark->resolve(one.at("ranks").get<int>());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::string check_command_lines(std::istream& input) {
  try {
    auto mistakes = Json::array();
    for (const Json& one : Json::parse(input)) mistakes.push_back(mistake_in(one));
    return mistakes.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("--check: not a list of command lines ({})", error.what()));
  }
}

}  // namespace commlens
