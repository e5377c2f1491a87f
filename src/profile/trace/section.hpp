// An array that grows in a file, which has it even if the process is killed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace commlens::profile {

/// A part of a mapped file. Room is taken from the file system before it is written to: a full disk would otherwise end
/// the program by SIGBUS.
template <class Item>
class Section {
 public:
  /// `length` lies in the file, too.
  void start(int file, std::byte* mapping, std::size_t offset, std::size_t capacity, std::uint64_t* length) {
    file_ = file;
    offset_ = offset;
    capacity_ = capacity;
    items_ = reinterpret_cast<Item*>(mapping + offset);
    length_ = length;
  }
  [[nodiscard]] Item* items() const { return items_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t* length_address() const { return length_; }
  [[nodiscard]] std::size_t length() const { return *length_; }
  /// Whether there is room for so many more; takes it from the file system.
  bool make_room(std::size_t count);
  /// Appends; there must be room.
  void push(const Item& item) {
    items_[*length_] = item;
    ++*length_;
  }

 private:
  int file_ = -1;
  std::size_t offset_ = 0;
  std::size_t capacity_ = 0;
  std::size_t reserved_ = 0;  ///< items
  Item* items_ = nullptr;
  std::uint64_t* length_ = nullptr;
};

/// Whether the file system has given the bytes.
bool reserve_in_file(int file, std::size_t offset, std::size_t bytes);

template <class Item>
bool Section<Item>::make_room(std::size_t count) {
  const std::size_t wanted = length() + count;
  if (wanted <= reserved_) return true;
  if (wanted > capacity_) return false;
  constexpr std::size_t step = (std::size_t{1} << 20) / sizeof(Item);
  const std::size_t next = wanted + step < capacity_ ? wanted + step : capacity_;
  if (!reserve_in_file(file_, offset_ + reserved_ * sizeof(Item), (next - reserved_) * sizeof(Item))) return false;
  reserved_ = next;
  return true;
}

}  // namespace commlens::profile
