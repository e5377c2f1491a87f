#include "peers.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <numeric>

#include "profile.hpp"

namespace commlens::profile {
namespace {

template <class Item>
Item* map(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(Item), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<Item*>(memory);
}

/// The group of the ranks that a sender names.
MPI_Group group_of_communicator(MPI_Comm communicator) {
  MPI_Group group{};
  int is_inter = 0;
  profile.library.comm_test_inter(communicator, &is_inter);
  (is_inter != 0 ? profile.library.comm_remote_group : profile.library.comm_group)(communicator, &group);
  return group;
}

}  // namespace

void Peers::start(MPI_Comm world, int size) {
  world_ = world;
  size_ = size;
  if (size > max_ranks || profile.library.comm_group(world, &world_group_) != MPI_SUCCESS) return;
  ranks_ = map<int>(capacity);
  messages_ = map<Count>(static_cast<std::size_t>(size));
  bytes_ = ranks_ != nullptr && messages_ != nullptr ? map<Count>(static_cast<std::size_t>(size)) : nullptr;
}

int Peers::of(MPI_Comm communicator, int rank) {
  if (communicator == world_) return rank < 0 ? none : rank;
  return translated(key_of(communicator), false, rank,
                    [](std::uintptr_t key) { return group_of_communicator(handle_of<MPI_Comm>(key)); });
}

int Peers::of_window(MPI_Win window, int rank) {
  return translated(key_of(window), true, rank, [](std::uintptr_t key) {
    MPI_Group group{};
    profile.library.win_get_group(handle_of<MPI_Win>(key), &group);
    return group;
  });
}

void Peers::forget_groups() {
  const ScopedLock lock(lock_);
  used_ = 0;
  translations_used_ = 0;
}

int Peers::translated(std::uintptr_t handle, bool is_window, int rank, GroupOf group_of) {
  if (!is_enabled() || rank < 0) return none;
  const ScopedLock lock(lock_);
  const Translation* translation = find(handle, is_window);
  if (translation == nullptr) translation = translate(group_of(handle), handle, is_window);
  return translation == nullptr || rank >= translation->count ? none : ranks_[translation->first + rank];
}

const Peers::Translation* Peers::find(std::uintptr_t handle, bool is_window) const {
  for (int index = translations_used_ - 1; index >= 0; --index) {  // the newest is the most likely
    const Translation& translation = translations_[index];
    if (translation.handle == handle && translation.is_window == is_window) return &translation;
  }
  return nullptr;
}

const Peers::Translation* Peers::translate(MPI_Group group, std::uintptr_t handle, bool is_window) {
  int count = 0;
  profile.library.group_size(group, &count);
  if (count > capacity / 2) return nullptr;
  if (used_ + 2 * count > capacity || translations_used_ == max_translations) {
    used_ = 0;  // start again: a program that creates so many no longer uses the oldest
    translations_used_ = 0;
  }
  int* world_ranks = ranks_ + used_;
  int* numbers = world_ranks + count;  // scratch space until the next translation
  std::iota(numbers, numbers + count, 0);
  profile.library.group_translate_ranks(group, count, numbers, world_group_, world_ranks);
  profile.library.group_free(&group);
  translations_[translations_used_] = {handle, is_window, used_, count};
  used_ += count;
  return &translations_[translations_used_++];
}

}  // namespace commlens::profile
