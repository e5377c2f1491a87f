#include "transport/communicator.hpp"

#include <atomic>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "transport/activity.hpp"

namespace commlens::transport {

namespace {

const Call comm_dup_call{"MPI_Comm_dup"};
const Call comm_split_call{"MPI_Comm_split"};
const Call comm_free_call{"MPI_Comm_free"};
const Call agreeing_call{"waiting for the other ranks"};

/// Counts as progress once it is over: ranks that go from one agreement to the next have not stalled, however long each
/// of them takes on busy cores.
class Agreement {
 public:
  Agreement() = default;
  Agreement(Agreement&&) = delete;
  ~Agreement() { heartbeat(); }

 private:
  InCall call_{agreeing_call};
};

template <class Number>
Number reduced(Number value, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator) {
  const Agreement agreement;
  CALL_MPI(MPI_Allreduce, MPI_IN_PLACE, &value, 1, type, operation, communicator);
  return value;
}

}  // namespace

void fail_mpi(int status, const char* call) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(std::string(call) + ": " + text);
}

Communicator::Communicator(MPI_Comm parent) {
  const InCall call(comm_dup_call);
  MPI_Comm duplicate = MPI_COMM_NULL;
  CALL_MPI(MPI_Comm_dup, parent, &duplicate);
  adopt(duplicate);
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)), rank_(other.rank_), size_(other.size_) {}

Communicator::~Communicator() {
  if (handle_ == MPI_COMM_NULL) return;
  const InCall call(comm_free_call);
  MPI_Comm_free(&handle_);
}

void Communicator::adopt(MPI_Comm handle) {
  handle_ = handle;
  MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(handle_, &rank_);
  MPI_Comm_size(handle_, &size_);
}

Communicator Communicator::node() const {
  MPI_Comm handle = MPI_COMM_NULL;
  CALL_MPI(MPI_Comm_split_type, handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &handle);
  Communicator node;
  node.adopt(handle);
  return node;
}

Communicator Communicator::split(int color) const {
  const InCall call(comm_split_call);
  MPI_Comm handle = MPI_COMM_NULL;
  CALL_MPI(MPI_Comm_split, handle_, color, rank_, &handle);
  Communicator group;
  group.adopt(handle);
  return group;
}

Communicator Communicator::cartesian(const Grid& grid) const {
  const std::vector<int> periodic(grid.extents.size(), grid.periodic ? 1 : 0);
  constexpr int do_not_reorder = 0;
  MPI_Comm handle = MPI_COMM_NULL;
  CALL_MPI(MPI_Cart_create, handle_, static_cast<int>(grid.extents.size()), grid.extents.data(), periodic.data(),
           do_not_reorder, &handle);
  return owning(handle, rank_, size_);
}

Communicator Communicator::owning(MPI_Comm handle, int rank, int size) {
  Communicator communicator;
  communicator.handle_ = handle;
  communicator.rank_ = rank;
  communicator.size_ = size;
  return communicator;
}

std::vector<int> Communicator::ranks_of(MPI_Comm other) const {
  MPI_Group mine = MPI_GROUP_NULL;
  MPI_Group theirs = MPI_GROUP_NULL;
  int count = 0;
  CALL_MPI(MPI_Comm_size, other, &count);
  CALL_MPI(MPI_Comm_group, handle_, &mine);
  CALL_MPI(MPI_Comm_group, other, &theirs);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int> ranks(numbers.size());
  CALL_MPI(MPI_Group_translate_ranks, theirs, count, numbers.data(), mine, ranks.data());
  CALL_MPI(MPI_Group_free, &mine);
  CALL_MPI(MPI_Group_free, &theirs);
  return ranks;
}

void Communicator::barrier() const {
  const Agreement agreement;
  CALL_MPI(MPI_Barrier, handle_);
}

void Communicator::maximum(std::vector<double>& values) const {
  const Agreement agreement;
  CALL_MPI(MPI_Allreduce, MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, handle_);
}

double Communicator::maximum(double value) const { return reduced(value, MPI_DOUBLE, MPI_MAX, handle_); }
std::int64_t Communicator::sum(std::int64_t value) const { return reduced(value, MPI_INT64_T, MPI_SUM, handle_); }
double Communicator::sum_of_reals(double value) const { return reduced(value, MPI_DOUBLE, MPI_SUM, handle_); }

std::string Communicator::broadcast(const std::string& text, int root) const {
  const Agreement agreement;
  int length = static_cast<int>(text.size());
  CALL_MPI(MPI_Bcast, &length, 1, MPI_INT, root, handle_);
  std::string result = rank_ == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  CALL_MPI(MPI_Bcast, result.data(), length, MPI_CHAR, root, handle_);
  return result;
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  const Agreement agreement;
  const auto ranks = static_cast<std::size_t>(size_);
  std::vector<std::size_t> lengths(ranks);
  const std::size_t mine = text.size();
  CALL_MPI(MPI_Allgather, &mine, sizeof mine, MPI_BYTE, lengths.data(), sizeof mine, MPI_BYTE, handle_);
  const std::size_t total = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  if (total > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error("MPI_Allgatherv: " + std::to_string(total) + " bytes of text over all ranks do not fit its int counts");
  }
  const std::vector<int> counts(lengths.begin(), lengths.end());
  std::vector<int> offsets(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  std::string joined(total, '\0');
  CALL_MPI(MPI_Allgatherv, text.data(), static_cast<int>(mine), MPI_CHAR, joined.data(), counts.data(), offsets.data(),
           MPI_CHAR, handle_);
  std::vector<std::string> texts;
  texts.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(joined.substr(static_cast<std::size_t>(offsets[rank]), lengths[rank]));
  }
  return texts;
}

std::string Communicator::first(const std::string& text) const {
  const int owner = reduced(text.empty() ? size_ : rank_, MPI_INT, MPI_MIN, handle_);
  return owner == size_ ? std::string() : broadcast(text, owner);
}

}  // namespace commlens::transport
