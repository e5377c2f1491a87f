#include "world.hpp"

#include <algorithm>
#include <cstdint>

#include "transport/kinds.hpp"

namespace commlens::sem {

namespace {

auto* const everybody = new World;  // GoogleTest owns it
const auto* const registered = testing::AddGlobalTestEnvironment(everybody);

}  // namespace

const transport::Communicator& world() { return *everybody->communicator; }
device::Device& this_device() { return *everybody->device; }

void World::SetUp() {
  communicator.emplace(MPI_COMM_WORLD);
  const int gpus = device::gpu_count();
  device = gpus > 0 ? device::open_gpu(communicator->rank() % gpus) : device::open_host();
  device->make_current();
}

void World::TearDown() {
  device.reset();
  communicator.reset();
}

void Place::SetUp() {
  if (!this_device().has(memory)) GTEST_SKIP() << "no " << device::name(memory) << " memory on this machine";
  const auto& all = transport::kinds();
  const auto staged = std::find_if(all.begin(), all.end(), [](const auto& kind) { return kind.name == "staged"; });
  ASSERT_NE(staged, all.end());
  transport = staged->make({world(), this_device(), memory, ""});
  stream = this_device().stream(memory);
}

device::Buffer Place::allocate(std::size_t bytes) const { return this_device().allocate(memory, bytes); }

device::Buffer Place::zeros(std::size_t count) const { return written(std::vector<double>(count, 0.0)); }

device::Buffer Place::written(const std::vector<double>& values) const {
  device::Buffer buffer = allocate(values.size() * sizeof(double));
  stream->copy(buffer.data(), values.data(), buffer.bytes());
  stream->wait();
  return buffer;
}

std::vector<double> Place::read(const device::Buffer& buffer) const {
  std::vector<double> values(buffer.bytes() / sizeof(double));
  stream->copy(values.data(), buffer.data(), buffer.bytes());
  stream->wait();
  return values;
}

gather_scatter::Surroundings Place::surroundings() const {
  return {.communicator = world(),
          .transport = *transport,
          .device = this_device(),
          .memory = memory,
          .stream = *stream,
          .allocate = [this](std::size_t bytes) { return allocate(bytes); },
          .allocate_staging =
              [](std::size_t bytes) { return this_device().allocate(this_device().staging_memory(), bytes); }};
}

double random_number(std::int64_t key) {
  // splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t z = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

}  // namespace commlens::sem
