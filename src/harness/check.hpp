// Checks command lines without running them: a suite of thousands is checked by one process, with the parser that the
// runs have.
#pragma once

#include <istream>
#include <string>

namespace commlens {

/// Reads a JSON list of {"ranks": 2, "words": ["latency", "--bytes", "8"]}. Returns one of texts, each what is wrong
/// with one of them as the program would say it, or empty.
std::string check_command_lines(std::istream& input);

}  // namespace commlens
