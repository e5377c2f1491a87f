#include "transport/mpi_collectives.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "transport/activity.hpp"
#include "transport/by_messages.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_library.hpp"

namespace commlens::transport {

namespace {

constexpr auto most_elements = static_cast<std::size_t>(std::numeric_limits<int>::max());

std::vector<Call> named_calls() {
  std::vector<Call> calls;
  for (const OperationDescription& operation : operations()) calls.emplace_back(operation.call.data());
  return calls;
}

const std::vector<Call> calls = named_calls();  // by operation
const Call collective_wait_call{"MPI_Waitall"};

const char* name_of_call(const Collective& collective) { return collective.description().call.data(); }

bool is_of_whole_arrays(Operation operation) {
  switch (operation) {
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::allreduce:
    case Operation::scan:
    case Operation::exclusive_scan:
      return true;
    default:
      return false;
  }
}

bool is_neighbor_alltoall(Operation operation) {
  return operation == Operation::neighbor_alltoall || operation == Operation::neighbor_alltoallv ||
         operation == Operation::neighbor_alltoallw;
}

bool sends_to_each(Operation operation) {
  return operation == Operation::scatterv || operation == Operation::alltoallv || operation == Operation::alltoallw ||
         is_neighbor_alltoall(operation);
}

bool is_scatter(Operation operation) { return operation == Operation::scatter || operation == Operation::scatterv; }

std::vector<Piece> pieces_to_neighbors(const Shape& shape) {
  const std::size_t own = shape.block(shape.rank);
  std::vector<Piece> pieces;
  for (std::size_t side = 0; side < shape.grid.sides(); ++side) pieces.push_back({side * own, own});
  return pieces;
}

/// Nothing from beyond an end of the grid.
std::vector<Piece> pieces_from_neighbors(const Collective& collective) {
  const std::vector<Block> blocks = collective.blocks();
  auto block = blocks.begin();
  std::vector<Piece> pieces;
  for (const int neighbor : collective.shape.grid.neighbors(collective.shape.rank)) {
    Piece& piece = pieces.emplace_back();
    if (neighbor == Grid::no_rank) continue;
    piece = {.offset = block->output, .bytes = block->count};
    ++block;
  }
  return pieces;
}

/// What this rank sends to each rank, or to each neighbor.
std::vector<Piece> pieces_to_each(const Collective& collective) {
  if (collective.description().of_neighbors) return pieces_to_neighbors(collective.shape);
  std::vector<Piece> pieces;
  Shape shape = collective.shape;
  for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank) {
    Piece piece;
    for (const Block& block : collective.description().blocks(shape)) {
      if (block.first == collective.shape.rank) piece = {.offset = block.input, .bytes = block.count};
    }
    pieces.push_back(piece);
  }
  return pieces;
}

/// What each rank has in the end; here what this rank receives from each, or from each neighbor, or is left with.
std::vector<Piece> pieces_of_each(const Collective& collective) {
  if (collective.description().of_neighbors) return pieces_from_neighbors(collective);
  const Shape& shape = collective.shape;
  std::vector<Piece> pieces;
  if (sends_to_each(collective.operation)) {
    for (const Block& block : collective.blocks()) pieces.push_back({.offset = block.output, .bytes = block.count});
  } else {
    for (int rank = 0; rank < shape.ranks; ++rank) pieces.push_back({shape.begin(rank), shape.block(rank)});
  }
  return pieces;
}

template <class Offset>
std::vector<Offset> in_bytes(const std::vector<Piece>& pieces, std::size_t size) {
  std::vector<Offset> offsets;
  for (const Piece& piece : pieces) offsets.push_back(static_cast<Offset>(piece.offset * size));
  return offsets;
}

/// The end of the last block of any rank, at most.
std::size_t extent(const Collective& collective) {
  const Shape& shape = collective.shape;
  if (!collective.description().of_neighbors) return shape.all();
  return shape.grid.sides() * (shape.counts == Counts::equal ? 1 : 2) * shape.count;
}

/// MPI 4.1 (8.6): what is sent to the rank before comes from the rank after, also where that is the same rank. The
/// blocks of libraries that overlook it are exchanged (MPI 4.0, B.1.1). A rank that is its own neighbor shows it.
bool tells_neighbors_apart(Operation operation, CallMode mode) {
  const Communicator self(MPI_COMM_SELF);
  const std::array<int, 2> sent{1, 2};
  std::array<int, 2> received{};
  MpiCollective collective(self,
                           {.operation = operation,
                            .shape = {.count = 1, .grid = {.extents = {1}, .periodic = true}},
                            .type = DataType::i32,
                            .input = sent.data(),
                            .output = received.data()},
                           mode);
  collective.start();
  collective.finish();
  return received[0] == sent[1] && received[1] == sent[0];
}

std::string sides_unsupported(const Collective& collective, CallMode mode) {
  const bool is_repeated = is_neighbor_alltoall(collective.operation) && collective.shape.grid.repeats_neighbors();
  if (!is_repeated || tells_neighbors_apart(collective.operation, mode)) return {};
  return fmt::format(
      "{} exchanges the two blocks of a rank that is the neighbor on both sides ({} {}): use a grid that is not "
      "periodic, or 3 ranks or more in each dimension",
      mpi_library(), name(mode), collective.description().call);
}

/// Of a reduction.
std::string reduction_unsupported(const Collective& collective, CallMode mode, device::Memory memory) {
  const Reduction reduction = collective.reduction;
  const std::string word = fmt::format("{} of {}", name(reduction), name(collective.type));
  if (reduction == Reduction::avg || reduction == Reduction::premulsum) {
    return fmt::format("MPI has no reduction {}", name(reduction));
  }
  if (is_of_bits(reduction) && !is_integer(collective.type)) return "MPI has no " + word + ": use an integer type";
  if (is_complex(collective.type) && reduction != Reduction::sum && reduction != Reduction::user) {
    return "complex numbers are only summed: use --reduction sum";
  }
  // Of Open MPI only the blocking reductions go through its component cuda, which copies to the host. The others
  // (libnbc) read device memory on the host: with 5.0.7 they end with SIGSEGV in NBC_Progress.
  if (mode != CallMode::blocking && memory == device::Memory::device && mpi_family() == "openmpi") {
    return mpi_library() +
           " reduces device memory with blocking calls only: use --call blocking, or --transport staged";
  }
  // Of the buffer it copies to the host what is as long as the result: the sums are wrong (seen with 5.0.7; Open MPI's
  // pull requests 13883 and 14249).
  if (collective.in_place && collective.operation == Operation::reduce_scatter && device::on_gpu(memory) &&
      mpi_family() == "openmpi") {
    return mpi_library() +
           " returns wrong sums from MPI_Reduce_scatter_block in place on GPU memory: use --out-of-place, or "
           "--transport staged";
  }
  return {};
}

/// Why the blocks do not fit int counts and displacements, or their sum, which libraries keep in an int; empty if they
/// do.
std::string beyond_int_counts(const Collective& collective) {
  const OperationDescription& operation = collective.description();
  const std::size_t all = extent(collective);
  const std::size_t bytes = all * size_of(collective.type);
  if (collective.operation == Operation::alltoallw && bytes > most_elements) {
    return fmt::format("{} bytes do not fit the int displacements of {}", bytes, operation.call);
  }
  if (is_of_whole_arrays(collective.operation) || all <= most_elements) return {};
  const bool has_counts_alone = operation.reduces || collective.operation == Operation::neighbor_alltoallw;
  const bool has_unequal_counts = operation.has_counts && collective.shape.counts != Counts::equal;
  if (!has_counts_alone && !has_unequal_counts) return {};  // counted in a larger unit
  return fmt::format("{} elements do not fit the int {} of {}", all, has_counts_alone ? "counts" : "displacements",
                     operation.call);
}

}  // namespace

bool mpi_has_large_counts() { return COMMLENS_MPI_HAS_LARGE_COUNTS; }

bool needs_large_counts(const Collective& collective) { return !beyond_int_counts(collective).empty(); }

std::string mpi_unsupported(const Collective& collective, CallMode mode, device::Memory memory) {
  if (is_by_messages(collective.operation)) return by_messages_unsupported(collective, mode);
  const OperationDescription& operation = collective.description();
  if (operation.reduces) {
    if (const auto reason = reduction_unsupported(collective, mode, memory); !reason.empty()) return reason;
  }
  if (!collective.in_place && collective.operation == Operation::broadcast) return "MPI_Bcast has one buffer only";
  const std::string beyond = beyond_int_counts(collective);
  if (!beyond.empty() && !mpi_has_large_counts()) return beyond + ", and this MPI library has no large counts (MPI 4)";
#if !COMMLENS_MPI_HAS_PERSISTENT_COLLECTIVES
  if (mode == CallMode::persistent) return "this MPI library has no persistent collectives (MPI 4)";
#endif
  return sides_unsupported(collective, mode);
}

template <class Count, class Displacement>
struct MpiCollective::CountsOf {
  CountsOf(const Collective& collective, MPI_Datatype type)
      : sends(sent(collective), name_of_call(collective), type),
        receives(received(collective), name_of_call(collective), type),
        types(static_cast<std::size_t>(collective.shape.ranks), type) {
    if (collective.operation == Operation::alltoallw) {
      send_offsets = in_bytes<Displacement>(pieces_to_each(collective), size_of(collective.type));
      receive_offsets = in_bytes<Displacement>(pieces_of_each(collective), size_of(collective.type));
    } else if (collective.operation == Operation::neighbor_alltoallw) {
      const auto sides = pieces_to_each(collective);
      types.assign(sides.size(), type);
      neighbor_send_offsets = in_bytes<MPI_Aint>(sides, size_of(collective.type));
      neighbor_receive_offsets = in_bytes<MPI_Aint>(pieces_of_each(collective), size_of(collective.type));
    }
  }

  /// A piece for each rank or neighbor, or a single one.
  static std::vector<Piece> sent(const Collective& collective) {
    if (sends_to_each(collective.operation)) return pieces_to_each(collective);
    return {{.offset = 0, .bytes = collective.description().input(collective.shape)}};
  }
  static std::vector<Piece> received(const Collective& collective) {
    if (collective.operation != Operation::scatterv) return pieces_of_each(collective);
    return {{.offset = 0, .bytes = collective.description().output(collective.shape)}};
  }

  BasicLayout<Count, Displacement> sends;
  BasicLayout<Count, Displacement> receives;
  std::vector<MPI_Datatype> types;         ///< of MPI_Alltoallw and MPI_Neighbor_alltoallw
  std::vector<Displacement> send_offsets;  ///< of MPI_Alltoallw, in bytes
  std::vector<Displacement> receive_offsets;
  std::vector<MPI_Aint> neighbor_send_offsets;  ///< of MPI_Neighbor_alltoallw, likewise
  std::vector<MPI_Aint> neighbor_receive_offsets;
};

MpiCollective::MpiCollective(const Communicator& communicator, const Collective& collective, CallMode mode,
                             bool large_counts)
    : communicator_(communicator), collective_(collective), mode_(mode), type_(mpi_type(collective.type)) {
  const OperationDescription& operation = collective_.description();
  if (operation.reduces) reduction_ = std::make_unique<MpiReduction>(collective.reduction, collective.type);
  if (operation.of_neighbors) grid_.emplace(communicator.cartesian(collective.shape.grid));
  const bool is_reduce_scatter = collective.operation == Operation::reduce_scatter;
  if (large_counts && mpi_has_large_counts() && (operation.has_counts || is_reduce_scatter)) {
    large_counts_ = std::make_unique<LargeCounts>(collective_, type_);
  } else if (operation.has_counts) {
    int_counts_ = std::make_unique<IntCounts>(collective_, type_);
  } else if (!is_of_whole_arrays(collective.operation)) {
    const std::vector<Piece> block{{.offset = 0, .bytes = collective.shape.count}};
    block_ = std::make_unique<Layout>(block, name_of_call(collective), type_);
  }
  prepare();
}

MpiCollective::~MpiCollective() {
  if (mode_ != CallMode::persistent) return;
  for (MPI_Request& request : requests_) MPI_Request_free(&request);
}

void MpiCollective::start() {
  const InCall in_call(calls[static_cast<std::size_t>(collective_.operation)]);
  if (mode_ == CallMode::persistent) {
    return CALL_MPI(MPI_Startall, static_cast<int>(requests_.size()), requests_.data());
  }
  MPI_Request* request = requests_.data();
  for (const PreparedCall& each : calls_) check_mpi(each.call(request++), each.name);
}

void MpiCollective::finish() {
  if (mode_ == CallMode::blocking) return;
  const InCall in_call(collective_wait_call);
  CALL_MPI(MPI_Waitall, static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

void MpiCollective::prepare() {
  if (is_of_whole_arrays(collective_.operation)) {
    mpi_calls::in_pieces(collective_.shape.count, mpi_calls::longest_message / size_of(collective_.type),
                         [&](std::size_t first, int count) { prepare_arrays(first, count); });
  } else if (int_counts_) {
    prepare_counts(*int_counts_);
  } else if (block_) {
    prepare_blocks();
  }
#if COMMLENS_MPI_HAS_LARGE_COUNTS
  if (large_counts_) prepare_counts(*large_counts_);
#endif
}

template <class Call, class Begin, class Prepare>
void MpiCollective::add(const char* name, Call call, Begin begin, Prepare prepare) {
  MPI_Request& request = requests_.emplace_back(MPI_REQUEST_NULL);
  if (mode_ == CallMode::persistent) return check_mpi(prepare(&request), name);
  if (mode_ == CallMode::nonblocking) {
    calls_.push_back({name, begin});
  } else {
    calls_.push_back({name, [call](MPI_Request* /*request*/) { return call(); }});
  }
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): three functions of MPI with the same arguments, which end with `Suffix`
#if COMMLENS_MPI_HAS_PERSISTENT_COLLECTIVES
#define COMMLENS_PREPARE(Name, Suffix, ...) MPI_##Name##_init##Suffix(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define COMMLENS_PREPARE(Name, Suffix, ...) ((void)request, MPI_ERR_OTHER)
#endif
#define COMMLENS_ADD_AS(Name, name, Suffix, ...)                                       \
  add(                                                                                 \
      "MPI_" #Name #Suffix, [=] { return MPI_##Name##Suffix(__VA_ARGS__); },           \
      [=](MPI_Request* request) { return MPI_I##name##Suffix(__VA_ARGS__, request); }, \
      [=](MPI_Request* request) { return COMMLENS_PREPARE(Name, Suffix, __VA_ARGS__); })
#define COMMLENS_ADD(Name, name, ...) COMMLENS_ADD_AS(Name, name, , __VA_ARGS__)
#define COMMLENS_ADD_COUNTED(Name, name, ...)          \
  if constexpr (std::is_same_v<Counts, LargeCounts>) { \
    COMMLENS_ADD_AS(Name, name, _c, __VA_ARGS__);      \
  } else {                                             \
    COMMLENS_ADD(Name, name, __VA_ARGS__);             \
  }                                                    \
  return
// NOLINTEND(cppcoreguidelines-macro-usage)

/// MPI_IN_PLACE stands for the send buffer, in a scatter for the receive buffer; of rooted operations on the root
/// alone. Empty buffers may have one address, which Open MPI 5 refuses for both of a reduction.
const void* MpiCollective::source(std::size_t offset) const {
  const bool is_empty_reduction = collective_.description().reduces && collective_.input == collective_.output;
  const bool in_place = (collective_.in_place || is_empty_reduction) && !is_scatter(collective_.operation) &&
                        (!collective_.description().rooted || collective_.shape.is_root());
  if (in_place || collective_.input == nullptr) return in_place ? MPI_IN_PLACE : nullptr;
  return static_cast<const std::byte*>(collective_.input) + offset;
}

void* MpiCollective::target(std::size_t offset) const {
  const bool in_place = collective_.in_place && is_scatter(collective_.operation) && collective_.shape.is_root();
  if (in_place || collective_.output == nullptr) return in_place ? MPI_IN_PLACE : nullptr;
  return static_cast<std::byte*>(collective_.output) + offset;
}

void MpiCollective::prepare_arrays(std::size_t first, int count) {
  const void* source = this->source(first * size_of(collective_.type));
  void* target = this->target(first * size_of(collective_.type));
  MPI_Comm communicator = this->communicator();
  MPI_Datatype type = type_;
  MPI_Op reduction = this->reduction();
  const int root = collective_.shape.root;
  switch (collective_.operation) {
    case Operation::broadcast:
      return COMMLENS_ADD(Bcast, bcast, target, count, type, root, communicator);
    case Operation::reduce:
      return COMMLENS_ADD(Reduce, reduce, source, target, count, type, reduction, root, communicator);
    case Operation::allreduce:
      return COMMLENS_ADD(Allreduce, allreduce, source, target, count, type, reduction, communicator);
    case Operation::scan:
      return COMMLENS_ADD(Scan, scan, source, target, count, type, reduction, communicator);
    case Operation::exclusive_scan:
      return COMMLENS_ADD(Exscan, exscan, source, target, count, type, reduction, communicator);
    default:
      return;
  }
}

void MpiCollective::prepare_blocks() {
  const void* source = this->source();
  void* target = this->target();
  MPI_Comm communicator = this->communicator();
  const int root = collective_.shape.root;
  const int count = *block_->counts();
  MPI_Datatype type = block_->type();
  MPI_Op reduction = this->reduction();
  switch (collective_.operation) {
    case Operation::reduce_scatter:
      return COMMLENS_ADD(Reduce_scatter_block, reduce_scatter_block, source, target, count, type, reduction,
                          communicator);
    case Operation::allgather:
      return COMMLENS_ADD(Allgather, allgather, source, count, type, target, count, type, communicator);
    case Operation::gather:
      return COMMLENS_ADD(Gather, gather, source, count, type, target, count, type, root, communicator);
    case Operation::scatter:
      return COMMLENS_ADD(Scatter, scatter, source, count, type, target, count, type, root, communicator);
    case Operation::alltoall:
      return COMMLENS_ADD(Alltoall, alltoall, source, count, type, target, count, type, communicator);
    case Operation::neighbor_allgather:
      return COMMLENS_ADD(Neighbor_allgather, neighbor_allgather, source, count, type, target, count, type,
                          communicator);
    case Operation::neighbor_alltoall:
      return COMMLENS_ADD(Neighbor_alltoall, neighbor_alltoall, source, count, type, target, count, type, communicator);
    case Operation::barrier:
      return COMMLENS_ADD(Barrier, barrier, communicator);
    default:
      return;
  }
}

// NOLINTBEGIN(readability-function-cognitive-complexity): each case has a call for either kind of counts
template <class Counts>
void MpiCollective::prepare_counts(const Counts& counts) {
  const void* source = this->source();
  void* target = this->target();
  MPI_Comm communicator = this->communicator();
  const int root = collective_.shape.root;
  MPI_Datatype type = type_;
  MPI_Op reduction = this->reduction();
  // Pointers: the prepared calls copy what they name.
  const auto* out = &counts.sends;
  const auto* in = &counts.receives;
  const auto* all = &counts;
  switch (collective_.operation) {
    case Operation::reduce_scatter:
      COMMLENS_ADD_COUNTED(Reduce_scatter_block, reduce_scatter_block, source, target, *in->counts(), type, reduction,
                           communicator);
    case Operation::reduce_scatterv:
      COMMLENS_ADD_COUNTED(Reduce_scatter, reduce_scatter, source, target, in->counts(), type, reduction, communicator);
    case Operation::allgatherv:
      COMMLENS_ADD_COUNTED(Allgatherv, allgatherv, source, *out->counts(), out->type(), target, in->counts(),
                           in->displacements(), in->type(), communicator);
    case Operation::gatherv:
      COMMLENS_ADD_COUNTED(Gatherv, gatherv, source, *out->counts(), out->type(), target, in->counts(),
                           in->displacements(), in->type(), root, communicator);
    case Operation::scatterv:
      COMMLENS_ADD_COUNTED(Scatterv, scatterv, source, out->counts(), out->displacements(), out->type(), target,
                           *in->counts(), in->type(), root, communicator);
    case Operation::alltoallv:
      COMMLENS_ADD_COUNTED(Alltoallv, alltoallv, source, out->counts(), out->displacements(), out->type(), target,
                           in->counts(), in->displacements(), in->type(), communicator);
    case Operation::alltoallw:
      COMMLENS_ADD_COUNTED(Alltoallw, alltoallw, source, out->counts(), all->send_offsets.data(), all->types.data(),
                           target, in->counts(), all->receive_offsets.data(), all->types.data(), communicator);
    case Operation::neighbor_allgatherv:
      COMMLENS_ADD_COUNTED(Neighbor_allgatherv, neighbor_allgatherv, source, *out->counts(), out->type(), target,
                           in->counts(), in->displacements(), in->type(), communicator);
    case Operation::neighbor_alltoallv:
      COMMLENS_ADD_COUNTED(Neighbor_alltoallv, neighbor_alltoallv, source, out->counts(), out->displacements(),
                           out->type(), target, in->counts(), in->displacements(), in->type(), communicator);
    case Operation::neighbor_alltoallw:
      COMMLENS_ADD_COUNTED(Neighbor_alltoallw, neighbor_alltoallw, source, out->counts(),
                           all->neighbor_send_offsets.data(), all->types.data(), target, in->counts(),
                           all->neighbor_receive_offsets.data(), all->types.data(), communicator);
    default:
      return;
  }
}

// NOLINTEND(readability-function-cognitive-complexity)

}  // namespace commlens::transport
