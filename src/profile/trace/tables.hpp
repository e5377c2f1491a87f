// Lists of numbers of which each different one is kept once: events and arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/section.hpp"

namespace commlens::profile {

/// Lists of numbers with a kind, such as the fields of an event with its function.
class ListTable {
 public:
  /// As it lies in the file.
  struct Entry {
    std::uint32_t kind;
    std::uint32_t first;  ///< in the numbers
    std::uint32_t count;
  };
  static constexpr std::uint32_t no_room = 0xFFFFFFFFU;

  /// False: there is no memory. `numbers` is shared by several tables.
  bool start(Section<Entry>* entries, Section<std::int64_t>* numbers);
  /// The number of the list; `no_room`.
  std::uint32_t find_or_add(std::uint32_t kind, const std::int64_t* numbers, std::size_t count);

 private:
  [[nodiscard]] bool is(const Entry& entry, std::uint32_t kind, const std::int64_t* numbers, std::size_t count) const;

  Section<Entry>* entries_ = nullptr;
  Section<std::int64_t>* numbers_ = nullptr;
  std::uint32_t* places_ = nullptr;  ///< a hash table: the number of an entry plus 1; 0: free
  std::size_t mask_ = 0;
};

}  // namespace commlens::profile
