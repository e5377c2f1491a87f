#include "transport/selection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <regex>
#include <string_view>
#include <utility>

#include "transport/libfabric.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_tools.hpp"
#include "transport/ucx_log.hpp"

namespace commlens::transport {

namespace {

/// Those of a framework, in their order: {"self", "sm"} for "opal_btl_".
std::vector<std::string> components_of(std::string_view framework, const std::vector<std::string>& categories) {
  std::vector<std::string> components;
  for (const std::string& category : categories) {
    if (!category.starts_with(framework)) continue;
    std::string component = category.substr(framework.size());
    if (component != "base") components.push_back(std::move(component));
  }
  // Open MPI 5, which alone has a framework smsc, always has the variables of vader, another name of sm.
  const bool has_smsc = std::find(categories.begin(), categories.end(), "opal_smsc_base") != categories.end();
  if (has_smsc) std::erase(components, "vader");
  return components;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// "Allreduce" of "PMPI_Allreduce", "MPI_Allreduce"; empty of all else.
std::string operation_of(const std::string& function) {
  for (const std::string_view prefix : {"MPI_", "PMPI_"}) {
    if (function.starts_with(prefix)) return function.substr(prefix.size());
  }
  return "";
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

/// By the shared library of a function, or by its name: components may be linked into libmpi.
std::string coll_component_of(const Frame& frame) {
  static const std::regex in_object(R"(^mca_coll_(\w+)\.so)");
  static const std::regex in_function(R"(^(?:mca|ompi)_coll_(?!base_)([a-z0-9]+)_)");
  std::smatch match;
  const bool found =
      std::regex_search(frame.object, match, in_object) || std::regex_search(frame.function, match, in_function);
  return found ? match[1].str() : "";
}

/// Open MPI chooses them in MPI_Init.
const Selection& components() {
  static const Selection chosen = components_among(ToolInterface(provided_thread_level()).categories());
  return chosen;
}

/// Of MPICH and those made from it; "auto" or empty: the library chooses by itself, or is another one.
std::string asked_algorithm(const std::string& collective) {
  if (!components().empty()) return "";
  return ToolInterface(provided_thread_level())
      .value_of("MPIR_CVAR_" + upper_case(operation_of(collective)) + "_INTRA_ALGORITHM");
}

}  // namespace

Selection components_among(const std::vector<std::string>& categories) {
  Selection selection;
  const auto pmls = components_of("ompi_pml_", categories);
  if (pmls.size() != 1) return selection;
  const std::string& pml = selection["pml"] = pmls.front();
  if (pml == "ob1") selection["btl"] = joined(components_of("opal_btl_", categories));
  if (pml == "cm") selection["mtl"] = joined(components_of("ompi_mtl_", categories));
  return selection;
}

std::string netmod_in(const std::string& version, const Selection& below) {
  static const std::regex device(R"(MPICH Device:\s*ch4:([\w ]+))");
  std::smatch match;
  if (!std::regex_search(version, match, device)) return "";
  std::string netmods = match[1].str();
  if (netmods.find(' ') == std::string::npos) return netmods;
  if (below.contains("ucx") == below.contains("provider")) return "";
  return below.contains("ucx") ? "ucx" : "ofi";
}

Selection selected(const std::string& collective) {
  Selection selection = components();
  if (const std::string lanes = UcxLog::lanes(); !lanes.empty()) selection["ucx"] = lanes;
  if (const std::string providers = opened_providers(); !providers.empty()) selection["provider"] = providers;
  if (const std::string netmod = netmod_in(mpi_library_version(), selection); !netmod.empty())
    selection["netmod"] = netmod;
  const std::string algorithm = asked_algorithm(collective);
  if (algorithm.empty() || algorithm == "auto") return selection;
  selection["collective"] = collective;
  selection["intra_algorithm"] = algorithm;
  return selection;
}

bool is_collective(const std::string& function) {
  constexpr std::array<std::string_view, 10> begins{"Allgather", "Allreduce", "Alltoall", "Barrier", "Bcast",
                                                    "Exscan",    "Gather",    "Reduce",   "Scan",    "Scatter"};
  const std::string operation = operation_of(function);
  return std::any_of(begins.begin(), begins.end(), [&](auto begin) { return operation.starts_with(begin); });
}

Selection collective_on(const std::vector<Frame>& stack) {
  const auto call =
      std::find_if(stack.begin(), stack.end(), [](const Frame& frame) { return is_collective(frame.function); });
  if (call == stack.end()) return {};
  const std::string operation = operation_of(call->function);
  Selection selection{{"collective", "MPI_" + operation}};
  // Outside in: a component may use others for its parts, and an algorithm may leave small messages to another.
  const std::string algorithms = "ompi_coll_base_" + lower_case(operation) + "_intra_";
  for (auto frame = std::make_reverse_iterator(call); frame != stack.rend(); ++frame) {
    const std::string component = coll_component_of(*frame);
    if (!component.empty()) selection.try_emplace("coll", component);
    if (!frame->function.starts_with(algorithms)) continue;
    const std::string algorithm = frame->function.substr(algorithms.size());
    if (algorithm != "generic") selection["algorithm"] = algorithm;  // what several trees have in common
  }
  return selection;
}

}  // namespace commlens::transport
