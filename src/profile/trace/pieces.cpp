#include "trace/pieces.hpp"

#include <cstddef>
#include <cstdlib>

#include "profile.hpp"

namespace commlens::profile {
namespace {

/// What MPI_Type_get_contents says, in memory of its own.
class Contents {
 public:
  explicit Contents(MPI_Datatype type) {
    const MpiLibrary& library = profile.library;
    int integers = 0;
    int addresses = 0;
    if (library.type_get_envelope(type, &integers, &addresses, &types_, &combiner_) != MPI_SUCCESS) return;
    is_read_ = combiner_ == MPI_COMBINER_NAMED;
    if (is_read_) return;
    numbers_ = make<int>(integers);
    addresses_ = make<MPI_Aint>(addresses);
    parts_ = make<MPI_Datatype>(types_);
    if (numbers_ == nullptr || addresses_ == nullptr || parts_ == nullptr) return;
    is_read_ =
        library.type_get_contents(type, integers, addresses, types_, numbers_, addresses_, parts_) == MPI_SUCCESS;
  }
  Contents(Contents&&) = delete;
  ~Contents() {
    for (int i = 0; is_read_ && combiner_ != MPI_COMBINER_NAMED && i < types_; ++i) release(parts_[i]);
    std::free(numbers_);
    std::free(addresses_);
    std::free(static_cast<void*>(parts_));
  }

  [[nodiscard]] bool is_read() const { return is_read_; }
  [[nodiscard]] int combiner() const { return combiner_; }
  [[nodiscard]] int number(std::int64_t i) const { return numbers_[i]; }
  [[nodiscard]] MPI_Datatype part(std::int64_t i = 0) const { return parts_[i]; }

 private:
  template <class Item>
  static Item* make(int count) {
    return static_cast<Item*>(std::malloc((static_cast<std::size_t>(count) + 1) * sizeof(Item)));
  }
  /// Derived types come as new handles.
  static void release(MPI_Datatype type) {
    int none[3] = {};
    int combiner = MPI_COMBINER_NAMED;
    profile.library.type_get_envelope(type, &none[0], &none[1], &none[2], &combiner);
    if (combiner != MPI_COMBINER_NAMED) profile.library.type_free(&type);
  }

  int combiner_ = MPI_COMBINER_NAMED;
  int types_ = 0;
  bool is_read_ = false;
  int* numbers_ = nullptr;
  MPI_Aint* addresses_ = nullptr;
  MPI_Datatype* parts_ = nullptr;
};

/// Elements that begin where the one before ends are one piece.
bool is_dense(MPI_Datatype type) {
  MPI_Count size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  profile.library.type_size(type, &size);
  profile.library.type_get_extent(type, &lower, &extent);
  profile.library.type_get_true_extent(type, &true_lower, &true_extent);
  return extent == size && true_extent == size;
}

std::int64_t of_block(MPI_Datatype type, std::int64_t length) {
  if (length == 0) return 0;
  return is_dense(type) ? 1 : length * pieces_of(type);
}

/// Of a struct, or of blocks of one type, whose lengths begin at number 1.
std::int64_t of_blocks(const Contents& contents, bool is_struct) {
  std::int64_t pieces = 0;
  for (std::int64_t i = 0; i < contents.number(0); ++i) {
    const int length = contents.number(1 + i);
    const std::int64_t of_this = of_block(contents.part(is_struct ? i : 0), length);
    if (length > 0 && of_this == 0) return 0;
    pieces += of_this;
  }
  return pieces;
}

/// Dimensions that are whole, from the fastest on, are in one piece with the next one.
std::int64_t of_subarray(const Contents& contents) {
  const std::int64_t dimensions = contents.number(0);
  const bool is_c = contents.number(1 + 3 * dimensions) == MPI_ORDER_C;
  std::int64_t pieces = 1;
  bool is_whole = true;
  for (std::int64_t step = 0; step < dimensions; ++step) {
    const std::int64_t dimension = is_c ? dimensions - 1 - step : step;
    const int part = contents.number(1 + dimensions + dimension);
    if (!is_whole) pieces *= part;
    is_whole = is_whole && part == contents.number(1 + dimension);
  }
  return is_dense(contents.part()) ? pieces : 0;
}

}  // namespace

std::int64_t pieces_of(MPI_Datatype type) {
  const Contents contents(type);
  if (!contents.is_read()) return 0;
  switch (contents.combiner()) {
    case MPI_COMBINER_NAMED:
      return 1;
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return pieces_of(contents.part());
    case MPI_COMBINER_CONTIGUOUS:
      return of_block(contents.part(), contents.number(0));
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return contents.number(0) * of_block(contents.part(), contents.number(1));
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
      return of_blocks(contents, false);
    case MPI_COMBINER_STRUCT:
      return of_blocks(contents, true);
    case MPI_COMBINER_SUBARRAY:
      return of_subarray(contents);
    default:
      return 0;
  }
}

}  // namespace commlens::profile
