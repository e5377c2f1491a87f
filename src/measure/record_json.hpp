// Records as lines of JSON, as docs/record.schema.json says. No line holds a number that is not finite: a record of
// which Result says so is written without statistics, and a ceiling without a fraction is left out.
#pragma once

#include <string>

#include "measure/declarations.hpp"
#include "measure/record.hpp"
#include "measure/result.hpp"

namespace commlens::measure {

/// The line that stands before the records of a start. Without the newline, as all of these.
std::string start_line(const Start& start);
std::string record_line(const Start& start, const Result& result);

}  // namespace commlens::measure
