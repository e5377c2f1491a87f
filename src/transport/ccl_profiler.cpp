#include "transport/ccl_profiler.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace commlens::transport {

namespace {

constexpr const char* plugin_variable = "NCCL_PROFILER_PLUGIN";
constexpr int first_version = 22700;
// Of ncclProfileGroup and ncclProfileColl: 2.27 tells of a collective only where its group has a handle.
constexpr int group_event = 1 << 0;
constexpr int collective_event = 1 << 1;

/// NCCL's profiler belongs to the process; only the thread that enqueues uses it.
struct Profiler {
  int* mask = nullptr;  ///< of the events that NCCL tells; its own
  Selection selection;
};
Profiler& profiler() {
  static Profiler profiler;
  return profiler;
}

// The interface of version 4, as in plugins/profiler/example/nccl/profiler_v4.h of NCCL. Of the events only those of
// collectives are asked for.
struct Event {
  std::uint8_t type;
  void* parent;
  int rank;
  std::uint64_t sequence_number;
  const char* function;
  const void* input;
  void* output;
  std::size_t count;
  int root;
  const char* data_type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

int init(void** context, int* mask, const char* /*name*/, std::uint64_t /*hash*/, int /*nodes*/, int /*ranks*/,
         int /*rank*/, void (* /*log*/)()) {
  *context = &profiler();
  profiler().mask = mask;
  return 0;
}

int start_event(void* /*context*/, void** handle, Event* event) {
  *handle = event->type == group_event ? &profiler() : nullptr;
  if (event->type != collective_event) return 0;
  profiler().selection = {{"collective", std::string("nccl") + event->function},
                          {"algorithm", event->algorithm},
                          {"protocol", event->protocol},
                          {"channels", std::to_string(event->channels)}};
  return 0;
}

int stop_event(void* /*handle*/) { return 0; }
int record_event_state(void* /*handle*/, int /*state*/, void* /*arguments*/) { return 0; }
int finalize(void* /*context*/) { return 0; }

}  // namespace

CclProfiler::CclProfiler(int version) : is_ours_(version >= first_version && std::getenv(plugin_variable) == nullptr) {
  if (is_ours_) setenv(plugin_variable, "STATIC_PLUGIN", 1);
}

CclProfiler::~CclProfiler() {
  if (is_ours_) unsetenv(plugin_variable);
}

Selection selected_by_ccl(const std::function<void()>& operate) {
  Profiler& ours = profiler();
  ours.selection.clear();
  if (ours.mask == nullptr) return {};
  std::atomic_ref(*ours.mask) = group_event | collective_event;
  operate();
  std::atomic_ref(*ours.mask) = 0;
  return ours.selection;
}

}  // namespace commlens::transport

/// What NCCL looks for in a plugin.
extern "C" {
struct CommlensCclPlugin {
  const char* name;
  decltype(&commlens::transport::init) init;
  decltype(&commlens::transport::start_event) start_event;
  decltype(&commlens::transport::stop_event) stop_event;
  decltype(&commlens::transport::record_event_state) record_event_state;
  decltype(&commlens::transport::finalize) finalize;
};
extern const CommlensCclPlugin ncclProfiler_v4;
const CommlensCclPlugin ncclProfiler_v4{"commlens",
                                        commlens::transport::init,
                                        commlens::transport::start_event,
                                        commlens::transport::stop_event,
                                        commlens::transport::record_event_state,
                                        commlens::transport::finalize};
}
