#include "harness/activity_board.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <string>

namespace commlens {

namespace {

/// At the beginning of the memory; the places follow.
struct alignas(64) Head {
  std::atomic<int> spoken;
};

constexpr mode_t owner_only = 0600;

/// Zeroed memory under a name that other processes can open; nullptr: there is none.
void* map(const std::string& name, std::size_t bytes, bool create) {
  const int descriptor = shm_open(name.c_str(), create ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, owner_only);
  if (descriptor < 0) return nullptr;
  // Not ftruncate(): where /dev/shm is full, it would succeed, and the first access would be the end (SIGBUS).
  const bool sized = !create || posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0;
  void* memory = sized ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  return memory == MAP_FAILED ? nullptr : memory;
}

void* map_private(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::size_t ActivityBoard::bytes(int ranks) {
  return sizeof(Head) + static_cast<std::size_t>(ranks) * sizeof(Activity);
}

ActivityBoard::ActivityBoard(const transport::Communicator& node) : rank_(node.rank()), size_(node.size()) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string name = node.broadcast(fmt::format("/commlens-{}-{}", getpid(), now));
  if (rank_ == 0) memory_ = map(name, bytes(size_), true);
  node.barrier();
  if (rank_ != 0) memory_ = map(name, bytes(size_), false);
  is_shared_ =
      node.first(memory_ == nullptr ? "no shared memory" : "").empty();  // all have opened it, or one could not
  if (rank_ == 0) shm_unlink(name.c_str());
  if (is_shared_) return;
  if (memory_ != nullptr) munmap(memory_, bytes(size_));
  size_ = 1;
  memory_ = map_private(bytes(size_));
}

ActivityBoard::~ActivityBoard() { munmap(memory_, bytes(size_)); }

Activity& ActivityBoard::place(int index) const {
  auto* const first = reinterpret_cast<Activity*>(static_cast<std::byte*>(memory_) + sizeof(Head));
  return first[index];
}

std::atomic<int>& ActivityBoard::spoken() const { return static_cast<Head*>(memory_)->spoken; }

bool ActivityBoard::may_speak() const {
  int nobody = 0;
  return spoken().compare_exchange_strong(nobody, 1);
}

}  // namespace commlens
