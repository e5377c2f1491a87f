#include "base/json.hpp"

#include <utility>

namespace commlens {

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parse_json(std::string_view text) { return Json::parse(text); }

std::optional<Json> json_in(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? std::nullopt : std::optional(std::move(json));
}

}  // namespace commlens
