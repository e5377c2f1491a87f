#include "transport/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace commlens::transport {

namespace {

constexpr mode_t owner_only = 0600;
constexpr std::size_t page = 4096;

std::string failed(const char* call, int error) { return fmt::format("{}: {}", call, std::strerror(error)); }

std::vector<std::size_t> offsets_of(const std::vector<std::string>& sizes) {
  std::vector<std::size_t> offsets{0};
  for (const std::string& size : sizes) {
    const std::size_t bytes = std::strtoull(size.c_str(), nullptr, 10);
    offsets.push_back(offsets.back() + (bytes + page - 1) / page * page);
  }
  return offsets;
}

}  // namespace

std::string SharedMemory::open(const std::string& name, bool create) {
  descriptor_ = shm_open(name.c_str(), create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, owner_only);
  if (descriptor_ < 0) return failed("shm_open", errno);
  const std::size_t bytes = offsets_.back();
  if (create && ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return failed("ftruncate", errno);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (data == MAP_FAILED) return failed("mmap", errno);
  data_ = static_cast<std::byte*>(data);
  madvise(data_, bytes, MADV_HUGEPAGE);  // where the system allows it
  return {};
}

/// Each rank has the pages of its part made, so that they are near it, and so that a full /dev/shm is an error here and
/// not a signal later.
std::string SharedMemory::reserve(int rank) const {
  const auto part = static_cast<std::size_t>(rank);
  const std::size_t bytes = offsets_[part + 1] - offsets_[part];
  if (bytes == 0) return {};
  int status = EINTR;
  while (status == EINTR) {
    status = posix_fallocate(descriptor_, static_cast<off_t>(offsets_[part]), static_cast<off_t>(bytes));
  }
  return status == 0 ? "" : failed("posix_fallocate in /dev/shm", status);
}

std::unique_ptr<SharedMemory> SharedMemory::make(const Communicator& node, std::size_t bytes, std::string& problem) {
  std::unique_ptr<SharedMemory> memory(new SharedMemory);
  memory->offsets_ = offsets_of(node.gather(std::to_string(bytes)));
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string name = node.broadcast(fmt::format("/commlens-{}-{}", getpid(), now));
  std::string rank_problem;
  if (node.rank() == 0) rank_problem = memory->open(name, true);
  node.barrier();
  if (node.rank() != 0) rank_problem = memory->open(name, false);
  if (rank_problem.empty()) rank_problem = memory->reserve(node.rank());
  problem = node.first(rank_problem);  // all have opened it, or tried to
  if (node.rank() == 0) shm_unlink(name.c_str());
  if (memory->descriptor_ >= 0) close(memory->descriptor_);
  if (!problem.empty()) return nullptr;
  return memory;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, offsets_.back());
}

}  // namespace commlens::transport
