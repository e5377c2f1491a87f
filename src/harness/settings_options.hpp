// The options that every benchmark has.
#pragma once

#include <string>
#include <vector>

#include "harness/options.hpp"
#include "harness/settings.hpp"

namespace CLI {
class App;
}

namespace commlens {

void add_option(CLI::App& app, const std::string& name, const std::string& help, const std::string& standard,
                const Option::Parse& parse);
void add_settings(CLI::App& app, Settings& settings);
/// Throws UsageError for settings that exclude each other, or that the benchmark does not know.
void refuse_contradictions(const Settings& settings, const measure::BenchmarkDeclaration& benchmark);

/// The name that `name` is most likely a slip for; empty: none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace commlens
