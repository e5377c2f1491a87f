#include "world.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "transport/rank_device.hpp"

namespace commlens {

namespace {

class World : public testing::Environment {
 public:
  void SetUp() override {
    communicator.emplace(MPI_COMM_WORLD);
    if (!device) device = open_rank_device(communicator->node().rank());
  }
  void TearDown() override {
    device.reset();
    communicator.reset();
  }

  std::optional<transport::Communicator> communicator;
  std::unique_ptr<device::Device> device;
};

auto* const the_world = new World;  // GoogleTest owns it
const auto* const registered = testing::AddGlobalTestEnvironment(the_world);

/// `peer` refuses ranks that share a GPU: a kernel that waits may take the place of the one that it waits for. The
/// kernels of these tests are small, so that they end, and one GPU is enough. Refused for another reason, the tests
/// fail: asked for in this way, they are not to be skipped.
bool is_tested_nevertheless(const std::string& transport) {
  return transport == "peer" && std::getenv("COMMLENS_TEST_SHARED_GPU") != nullptr;
}

}  // namespace

const transport::Communicator& world() { return *the_world->communicator; }
device::Device& this_device() { return *the_world->device; }
void open_device_before_mpi() {
  if (const auto local_rank = local_rank_from_environment()) the_world->device = open_rank_device(*local_rank);
}

std::string name_of(const testing::TestParamInfo<Place>& place) {
  return place.param.transport + "_" + std::string(name(place.param.memory));
}

void InPlace::SetUp() {
  if (!this_device().has(memory())) GTEST_SKIP() << "no " << name(memory()) << " memory on this machine";
  const auto& all = transport::all();
  const auto description = std::find_if(all.begin(), all.end(),
                                        [](const auto& candidate) { return candidate.name == GetParam().transport; });
  ASSERT_NE(description, all.end());
  const transport::Setup setup{world(), this_device(), memory(), ""};
  const std::string reason = world().first(description->unsupported(setup));
  if (!reason.empty() && !is_tested_nevertheless(description->name)) GTEST_SKIP() << reason;
  transport = description->make(setup);
  constexpr std::size_t most_bytes = 16 << 20;
  arena = transport->allocate(most_bytes);
  stream = this_device().stream(memory());
}

device::Buffer InPlace::allocate(std::size_t bytes) const {
  if (arena.data() == nullptr) return this_device().allocate(memory(), bytes);
  constexpr std::size_t line = 64;
  auto* data = arena.as<std::byte>() + used;
  used += (bytes + line - 1) / line * line;
  if (used > arena.bytes()) throw std::logic_error("the test takes more than the arena has");
  return {data, bytes, memory()};
}

Context InPlace::context() {
  return {.communicator = world(),
          .transport = *transport,
          .device = this_device(),
          .memory = memory(),
          .stream = *stream,
          .allocate =
              [this](std::size_t bytes) {
                allocated += static_cast<double>(bytes);
                return allocate(bytes);
              },
          .allocate_staging =
              [this](std::size_t bytes) {
                staged += static_cast<double>(bytes);
                return this_device().allocate(this_device().staging_memory(), bytes);
              }};
}

}  // namespace commlens
