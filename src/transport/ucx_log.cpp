#include "transport/ucx_log.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <regex>
#include <utility>
#include <vector>

#include "transport/mpi_library.hpp"

namespace commlens::transport {

namespace {

constexpr const char* log_variable = "UCX_LOG_LEVEL";
constexpr int warning_level = 2;  // UCX's default; as in ucs/config/types.h

/// UCX's log belongs to the process, and its functions are given nothing else.
struct Log {
  std::mutex mutex;  // UCX has threads of its own
  std::vector<std::string> lanes;
  std::atomic<bool> is_quiet{false};
};
Log& process_log() {
  static Log log;
  return log;
}

void keep(std::string lanes) {
  Log& log = process_log();
  const std::scoped_lock lock(log.mutex);
  if (std::find(log.lanes.begin(), log.lanes.end(), lanes) == log.lanes.end()) log.lanes.push_back(std::move(lanes));
}

/// A function of the UCX that is loaded, whoever has loaded it; nullptr without one.
template <class Function>
Function* ucs_function(const char* name) {
  void* library = dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  dlclose(library);
  return function;
}

void set_level(const char* level) {
  if (auto* set = ucs_function<int(const char*, const char*)>("ucs_global_opts_set_value")) set("LOG_LEVEL", level);
}

/// Since then a message has a component.
bool has_components() {
  int major = 0;
  int minor = 0;
  const auto version = ucx_version();
  return !version || std::sscanf(version->c_str(), "%d.%d", &major, &minor) < 2 || major > 1 || minor >= 9;
}

}  // namespace

std::string lanes_in(const std::string& message) {
  static const std::regex pattern(R"((?:\S+ )?(?:(\S+) cfg#\d+|ep_cfg\[\d+\]:) +(\S.*?)[ ;]*)");
  std::smatch match;
  const bool is_one = std::regex_match(message, match, pattern);
  if (!is_one || message.find("(self/") != std::string::npos) return "";
  const std::string lanes = std::regex_replace(match[2].str(), std::regex(" +"), " ");
  return match[1].matched ? match[1].str() + " " + lanes : lanes;
}

UcxLog::UcxLog() : is_ours_(std::getenv(log_variable) == nullptr) {
  if (!is_ours_) return;
  process_log().is_quiet = true;
  setenv(log_variable, "info", 1);
  set_level("info");  // where libmpi is linked with UCX, which has read its variables
}

void UcxLog::initialised() const {
  if (is_ours_) unsetenv(log_variable);
}

UcxLog::~UcxLog() {
  if (!is_ours_) return;
  set_level("warn");
  process_log().is_quiet = false;
}

std::string UcxLog::lanes() {
  Log& log = process_log();
  const std::scoped_lock lock(log.mutex);
  std::string text;
  for (const std::string& lanes : log.lanes) text += (text.empty() ? "" : "; ") + lanes;
  return text;
}

}  // namespace commlens::transport

/// In place of UCX's own, as the program exports it: every message of UCX comes here first.
extern "C" void ucs_log_dispatch(const char* file, unsigned line, const char* function, int level, ...) {
  using namespace commlens::transport;
  static const bool has_component = has_components();
  std::array<char, 2048> message{};
  std::va_list arguments;
  va_start(arguments, level);
  void* component = has_component ? va_arg(arguments, void*) : nullptr;
  const char* format = va_arg(arguments, const char*);
  std::vsnprintf(message.data(), message.size(), format, arguments);
  va_end(arguments);
  if (std::string lanes = lanes_in(message.data()); !lanes.empty()) keep(std::move(lanes));
  if (process_log().is_quiet && level > warning_level) return;
  auto* write = ucs_function<decltype(ucs_log_dispatch)>("ucs_log_dispatch");
  if (write == nullptr) {
    std::fprintf(stderr, "UCX: %s\n", message.data());
  } else if (has_component) {
    write(file, line, function, level, component, "%s", message.data());
  } else {
    write(file, line, function, level, "%s", message.data());
  }
}
