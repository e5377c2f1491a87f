// The program as NCCL's profiler plugin: NCCL's calls, made as plugins/profiler/README.md of NCCL has them.
#include "transport/ccl_profiler.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace commlens::transport {
namespace {

constexpr const char* variable = "NCCL_PROFILER_PLUGIN";

// profiler_v4.h of NCCL
struct Descriptor {
  std::uint8_t type;
  void* parentObj;
  int rank;
  std::uint64_t seqNumber;
  const char* func;
  const void* sendBuff;
  void* recvBuff;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t nChannels;
  std::uint8_t nWarps;
  const char* algo;
  const char* proto;
};
struct Plugin {
  const char* name;
  int (*init)(void** context, int* mask, const char* name, std::uint64_t hash, int nodes, int ranks, int rank,
              void (*log)());
  int (*start_event)(void* context, void** handle, Descriptor* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

class CclProfilerTest : public ::testing::Test {
 protected:
  CclProfilerTest() { plugin_->init(&context_, &mask_, "", 1, 1, 2, 0, nullptr); }

  /// As NCCL does it for a group of one collective.
  void collective() {
    if ((mask_ & 3) != 3) return;
    void* group = nullptr;
    Descriptor descriptor{.type = 1};
    plugin_->start_event(context_, &group, &descriptor);
    EXPECT_NE(group, nullptr);
    descriptor = {.type = 2, .func = "AllReduce", .nChannels = 16, .algo = "RING", .proto = "LL128"};
    void* handle = nullptr;
    plugin_->start_event(context_, &handle, &descriptor);
    plugin_->stop_event(group);
  }

  Plugin* plugin_ = static_cast<Plugin*>(dlsym(RTLD_DEFAULT, "ncclProfiler_v4"));
  void* context_ = nullptr;
  int mask_ = 0;
};

TEST_F(CclProfilerTest, TellsOfTheOperationAlone) {
  EXPECT_EQ(mask_, 0);
  EXPECT_EQ(
      selected_by_ccl([&] { collective(); }),
      (Selection{{"collective", "ncclAllReduce"}, {"algorithm", "RING"}, {"protocol", "LL128"}, {"channels", "16"}}));
  EXPECT_EQ(mask_, 0);
  EXPECT_TRUE(selected_by_ccl([] {}).empty());
}

TEST(CclProfilerVariable, IsSetWhileACommunicatorIsMade) {
  unsetenv(variable);
  {
    const CclProfiler profiler(22803);
    EXPECT_STREQ(std::getenv(variable), "STATIC_PLUGIN");
  }
  EXPECT_EQ(std::getenv(variable), nullptr);
}

TEST(CclProfilerVariable, IsLeftToAUserAndToOlderLibraries) {
  unsetenv(variable);
  const CclProfiler older(22605);
  EXPECT_EQ(std::getenv(variable), nullptr);
  setenv(variable, "mine", 1);
  {
    const CclProfiler profiler(22803);
    EXPECT_STREQ(std::getenv(variable), "mine");
  }
  EXPECT_STREQ(std::getenv(variable), "mine");
}

}  // namespace
}  // namespace commlens::transport
