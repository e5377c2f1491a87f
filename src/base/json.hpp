// JSON: what ranks send to one another, and what records and listings are written as. Reading and writing are compiled
// once, in json.cpp: they are most of what the library costs in each file.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace commlens {

/// Ordered: a line reads in the order of the schema, and two lines can be compared as text.
using Json = nlohmann::ordered_json;

/// In one line. Text from the environment and from libraries need not be UTF-8: other bytes are replaced, as a record
/// is not worth losing for that.
std::string line_of(const Json& json);

/// Throws Json::parse_error.
Json parse_json(std::string_view text);

/// Empty: the text is not JSON.
std::optional<Json> json_in(std::string_view text);

}  // namespace commlens
