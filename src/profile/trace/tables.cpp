#include "trace/tables.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>

namespace commlens::profile {

bool reserve_in_file(int file, std::size_t offset, std::size_t bytes) {
  return posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

bool ListTable::start(Section<Entry>* entries, Section<std::int64_t>* numbers) {
  entries_ = entries;
  numbers_ = numbers;
  const std::size_t places = std::bit_ceil(2 * entries->capacity());
  void* memory = mmap(nullptr, places * sizeof *places_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  places_ = static_cast<std::uint32_t*>(memory);
  mask_ = places - 1;
  return true;
}

bool ListTable::is(const Entry& entry, std::uint32_t kind, const std::int64_t* numbers, std::size_t count) const {
  return entry.kind == kind && entry.count == count &&
         (count == 0 || std::memcmp(numbers_->items() + entry.first, numbers, count * sizeof *numbers) == 0);
}

std::uint32_t ListTable::find_or_add(std::uint32_t kind, const std::int64_t* numbers, std::size_t count) {
  std::uint64_t hash = kind;
  for (std::size_t index = 0; index < count; ++index) {
    hash = (std::rotl(hash, 5) ^ static_cast<std::uint64_t>(numbers[index])) * 0x9E3779B97F4A7C15U;
  }
  std::size_t place = (hash ^ (hash >> 32U)) & mask_;
  for (; places_[place] != 0; place = (place + 1) & mask_) {
    if (is(entries_->items()[places_[place] - 1], kind, numbers, count)) return places_[place] - 1;
  }
  if (!entries_->make_room(1) || !numbers_->make_room(count)) return no_room;
  const auto first = static_cast<std::uint32_t>(numbers_->length());
  for (std::size_t index = 0; index < count; ++index) numbers_->push(numbers[index]);
  entries_->push({kind, first, static_cast<std::uint32_t>(count)});
  return (places_[place] = static_cast<std::uint32_t>(entries_->length())) - 1;
}

}  // namespace commlens::profile
