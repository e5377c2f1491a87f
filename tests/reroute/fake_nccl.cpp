// NCCL without a GPU: ranks exchange files in FAKE_NCCL_DIR, on the streams of fake_gpu.cpp. An operation ends when all
// ranks have given it to their streams, and ends the program where ranks disagree on it.
//   FAKE_NCCL_VERSION=2604     what ncclGetVersion says
//   FAKE_NCCL_FAIL=WHAT:RANK   that rank fails: id, init, call (returns an error), run (an error while it runs)
//   FAKE_NCCL_WRONG=RANK       that rank gets a wrong element
//   FAKE_NCCL_WRONG_BIT=N      in that bit, else in the lowest one of its last byte
//   FAKE_NCCL_WRONG_FROM=N     in operation N of the communicator, from 0, and later ones
//   FAKE_NCCL_SLOW_MS=N        each operation takes that long
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_gpu.h"

namespace {

enum What { all_reduce, reduce, reduce_scatter, broadcast, all_gather, send, receive };

struct Comm {
  std::string name;
  int rank = 0;
  int ranks = 0;
  std::uint64_t operations = 0;
  std::set<int> connected;  // other ranks
  std::atomic<bool> is_aborted = false;
  std::atomic<int> error = 0;
};

struct Piece {
  int what;
  int type;
  int reduction;
  int peer;  // or the root
  std::uint64_t count;
  const char* input;
  char* output;
};

struct Batch {
  Comm* comm;
  std::uint64_t number;
  std::vector<Piece> pieces;
};

struct Group {
  int depth = 0;
  Comm* comm = nullptr;
  void* stream = nullptr;
  std::vector<Piece> pieces;
};
thread_local Group group;

std::size_t size_of(int type) {
  constexpr std::size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
  return sizes[type];
}

bool fails(const char* what, int rank) {
  const char* asked = std::getenv("FAKE_NCCL_FAIL");
  return asked != nullptr && std::string(asked) == std::string(what) + ":" + std::to_string(rank);
}

[[noreturn]] void disagree(const Comm& comm, const char* what) {
  std::fprintf(stderr, "fake NCCL: rank %d of %s: %s\n", comm.rank, comm.name.c_str(), what);
  _exit(9);
}

std::string file_of(const Comm& comm, std::uint64_t number, int rank) {
  return comm.name + "." + std::to_string(number) + "." + std::to_string(rank);
}

void put(const std::string& file, const std::string& content) {
  std::ofstream(file + ".part", std::ios::binary) << content;
  std::rename((file + ".part").c_str(), file.c_str());
}

/// Waits for the file; false: the communicator was aborted.
bool get(const Comm& comm, const std::string& file, std::string& content) {
  while (access(file.c_str(), F_OK) != 0) {
    if (comm.is_aborted) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  std::ostringstream read;
  read << std::ifstream(file, std::ios::binary).rdbuf();
  content = read.str();
  return true;
}

struct Head {
  int what;
  int type;
  int reduction;
  int peer;
  std::uint64_t count;
  std::uint64_t bytes;  // that follow
};

struct Sent {
  Head head;
  const char* data;
};

std::uint64_t bytes_sent(const Comm& comm, const Piece& piece) {
  const std::uint64_t bytes = piece.count * size_of(piece.type);
  if (piece.what == receive || (piece.what == broadcast && piece.peer != comm.rank)) return 0;
  return piece.what == reduce_scatter ? bytes * static_cast<std::uint64_t>(comm.ranks) : bytes;
}

std::string pack(const Comm& comm, const std::vector<Piece>& pieces) {
  std::string content;
  for (const Piece& piece : pieces) {
    const Head head{piece.what, piece.type, piece.reduction, piece.peer, piece.count, bytes_sent(comm, piece)};
    content.append(reinterpret_cast<const char*>(&head), sizeof head);
    content.append(piece.input != nullptr ? piece.input : "", head.bytes);
  }
  return content;
}

std::vector<Sent> unpack(const std::string& content) {
  std::vector<Sent> all;
  for (std::size_t place = 0; place < content.size();) {
    Sent sent{};
    std::memcpy(&sent.head, content.data() + place, sizeof sent.head);
    sent.data = content.data() + place + sizeof sent.head;
    place += sizeof sent.head + sent.head.bytes;
    all.push_back(sent);
  }
  return all;
}

template <class Number>
void combine(char* into, const char* from, std::uint64_t count, int reduction) {
  for (std::uint64_t index = 0; index < count; ++index) {
    Number one;
    Number other;
    std::memcpy(&one, into + index * sizeof one, sizeof one);
    std::memcpy(&other, from + index * sizeof other, sizeof other);
    const Number result = reduction == 0   ? static_cast<Number>(one + other)
                          : reduction == 1 ? static_cast<Number>(one * other)
                          : reduction == 2 ? (one > other ? one : other)
                                           : (one < other ? one : other);
    std::memcpy(into + index * sizeof one, &result, sizeof result);
  }
}

void combine(int type, char* into, const char* from, std::uint64_t count, int reduction) {
  if (type == 0) combine<std::int8_t>(into, from, count, reduction);
  if (type == 1) combine<std::uint8_t>(into, from, count, reduction);
  if (type == 2) combine<std::int32_t>(into, from, count, reduction);
  if (type == 3) combine<std::uint32_t>(into, from, count, reduction);
  if (type == 4) combine<std::int64_t>(into, from, count, reduction);
  if (type == 5) combine<std::uint64_t>(into, from, count, reduction);
  if (type == 7) combine<float>(into, from, count, reduction);
  if (type == 8) combine<double>(into, from, count, reduction);
}

/// The collective piece that is the same on all ranks, by its place among the pieces.
void finish_collective(const Comm& comm, const Piece& piece, std::size_t place,
                       const std::vector<std::vector<Sent>>& all) {
  const std::uint64_t bytes = piece.count * size_of(piece.type);
  std::string result;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    if (all[rank].size() <= place) disagree(comm, "another rank makes fewer calls");
    const Sent& sent = all[rank][place];
    const bool is_same = sent.head.what == piece.what && sent.head.type == piece.type &&
                         sent.head.reduction == piece.reduction && sent.head.peer == piece.peer &&
                         sent.head.count == piece.count;
    if (!is_same) disagree(comm, "another rank makes another call");
    if (piece.what == all_gather) {
      result.append(sent.data, bytes);
    } else if (piece.what == broadcast) {
      if (rank == piece.peer) result.assign(sent.data, bytes);
    } else {
      const char* data = sent.data + (piece.what == reduce_scatter ? bytes * static_cast<std::size_t>(comm.rank) : 0);
      if (rank == 0) {
        result.assign(data, bytes);
      } else {
        combine(piece.type, result.data(), data, piece.count, piece.reduction);
      }
    }
  }
  const bool has_result = piece.what != reduce || piece.peer == comm.rank;
  if (has_result) std::memcpy(piece.output, result.data(), result.size());
}

void finish_receive(const Comm& comm, const Piece& piece, std::size_t earlier,
                    const std::vector<std::vector<Sent>>& all) {
  for (const Sent& sent : all[piece.peer]) {
    if (sent.head.what != send || sent.head.peer != comm.rank) continue;
    if (earlier-- > 0) continue;
    if (sent.head.count != piece.count) disagree(comm, "a message has another length");
    std::memcpy(piece.output, sent.data, sent.head.bytes);
    return;
  }
  disagree(comm, "there is no message");
}

bool is_wrong(const Batch& batch) {
  const char* rank = std::getenv("FAKE_NCCL_WRONG");
  const char* first = std::getenv("FAKE_NCCL_WRONG_FROM");
  return rank != nullptr && std::atoi(rank) == batch.comm->rank &&
         (first == nullptr || batch.number >= std::strtoull(first, nullptr, 10));
}

/// The last element: its bytes are in little-endian order.
void make_wrong(const Piece& piece) {
  const std::size_t size = size_of(piece.type);
  const char* asked = std::getenv("FAKE_NCCL_WRONG_BIT");
  const std::size_t bit = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 8 * (size - 1);
  piece.output[(piece.count - 1) * size + bit / 8] ^= static_cast<char>(1 << bit % 8);
}

void finish(const Batch& batch, const std::vector<std::vector<Sent>>& all) {
  std::vector<std::size_t> received(static_cast<std::size_t>(batch.comm->ranks));
  for (std::size_t place = 0; place < batch.pieces.size(); ++place) {
    const Piece& piece = batch.pieces[place];
    if (piece.what == receive) {
      finish_receive(*batch.comm, piece, received[static_cast<std::size_t>(piece.peer)]++, all);
    } else if (piece.what != send) {
      finish_collective(*batch.comm, piece, place, all);
    }
    if (is_wrong(batch) && piece.output != nullptr) make_wrong(piece);
  }
}

void run(void* argument) {
  const std::unique_ptr<Batch> batch(static_cast<Batch*>(argument));
  Comm& comm = *batch->comm;
  if (fails("run", comm.rank)) comm.error = 6;
  while (comm.error != 0 && !comm.is_aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (comm.is_aborted) return;
  if (const char* slow = std::getenv("FAKE_NCCL_SLOW_MS")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(slow)));
  }
  put(file_of(comm, batch->number, comm.rank), pack(comm, batch->pieces));
  std::vector<std::string> contents(static_cast<std::size_t>(comm.ranks));
  std::vector<std::vector<Sent>> all;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    std::string& content = contents[static_cast<std::size_t>(rank)];
    if (!get(comm, file_of(comm, batch->number, rank), content)) return;
    all.push_back(unpack(content));
  }
  finish(*batch, all);
  if (batch->number > 0) unlink(file_of(comm, batch->number - 1, comm.rank).c_str());  // all have read it
}

/// As NCCL does before the first message between two ranks, waits for the other one.
void connect(Comm& comm, const Piece& piece) {
  if ((piece.what != send && piece.what != receive) || piece.peer == comm.rank) return;
  if (!comm.connected.insert(piece.peer).second) return;
  const auto file = [&](int rank, int peer) {
    return comm.name + ".connects." + std::to_string(rank) + "." + std::to_string(peer);
  };
  put(file(comm.rank, piece.peer), "here");
  std::string content;
  get(comm, file(piece.peer, comm.rank), content);
}

int end_group() {
  if (group.pieces.empty()) return 0;
  for (const Piece& piece : group.pieces) connect(*group.comm, piece);
  auto batch = std::make_unique<Batch>();
  batch->comm = group.comm;
  batch->number = group.comm->operations++;
  batch->pieces = std::move(group.pieces);
  group.pieces.clear();
  fake_gpu_enqueue(group.stream, run, batch.release());
  return 0;
}

/// In the memory of the primary context.
bool is_on_gpu(const void* pointer) {
  int is_device = 0;
  int device = 0;
  void* context = nullptr;
  void* primary = nullptr;
  int attributes[] = {2, 9, 1};
  void* values[] = {&is_device, &device, &context};
  cuPointerGetAttributes(3, attributes, values, reinterpret_cast<unsigned long long>(pointer));
  cuDevicePrimaryCtxRetain(&primary, device);
  return pointer == nullptr || (is_device == 2 && context == primary);
}

int add(void* comm, void* stream, const Piece& piece) {
  group.comm = static_cast<Comm*>(comm);
  if (!is_on_gpu(piece.input) || !is_on_gpu(piece.output)) disagree(*group.comm, "the data is not on the GPU");
  if (fails("call", group.comm->rank)) return 1;
  group.stream = stream;
  group.pieces.push_back(piece);
  return group.depth == 0 ? end_group() : 0;
}

}  // namespace

extern "C" {

struct Id {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  const char* asked = std::getenv("FAKE_NCCL_VERSION");
  *version = asked != nullptr ? std::atoi(asked) : 22803;
  return 0;
}
const char* ncclGetErrorString(int) { return "the fake was told to fail"; }

int ncclGetUniqueId(Id* id) {
  static std::atomic<int> made = 0;
  if (fails("id", 0)) return 2;
  std::snprintf(id->bytes, sizeof id->bytes, "%s/nccl-%d-%d", std::getenv("FAKE_NCCL_DIR"), getpid(), ++made);
  return 0;
}

int ncclCommInitRank(void** made, int ranks, Id id, int rank) {
  if (fails("init", rank)) return 2;
  auto comm = std::make_unique<Comm>();
  comm->name = id.bytes;
  comm->rank = rank;
  comm->ranks = ranks;
  put(comm->name + ".is." + std::to_string(rank), "here");
  std::string content;
  for (int other = 0; other < ranks; ++other) get(*comm, comm->name + ".is." + std::to_string(other), content);
  *made = comm.release();
  return 0;
}
int ncclCommAbort(void* comm) {
  static_cast<Comm*>(comm)->is_aborted = true;
  return 0;
}
int ncclCommGetAsyncError(void* comm, int* error) {
  *error = static_cast<Comm*>(comm)->error;
  return 0;
}

int ncclGroupStart() {
  ++group.depth;
  return 0;
}
int ncclGroupEnd() { return --group.depth == 0 ? end_group() : 0; }

int ncclAllReduce(const void* input, void* output, std::size_t count, int type, int reduction, void* comm,
                  void* stream) {
  return add(comm, stream,
             {all_reduce, type, reduction, 0, count, static_cast<const char*>(input), static_cast<char*>(output)});
}
int ncclReduce(const void* input, void* output, std::size_t count, int type, int reduction, int root, void* comm,
               void* stream) {
  return add(comm, stream,
             {reduce, type, reduction, root, count, static_cast<const char*>(input), static_cast<char*>(output)});
}
int ncclReduceScatter(const void* input, void* output, std::size_t count, int type, int reduction, void* comm,
                      void* stream) {
  return add(comm, stream,
             {reduce_scatter, type, reduction, 0, count, static_cast<const char*>(input), static_cast<char*>(output)});
}
int ncclBroadcast(const void* input, void* output, std::size_t count, int type, int root, void* comm, void* stream) {
  return add(comm, stream,
             {broadcast, type, 0, root, count, static_cast<const char*>(input), static_cast<char*>(output)});
}
int ncclAllGather(const void* input, void* output, std::size_t count, int type, void* comm, void* stream) {
  return add(comm, stream,
             {all_gather, type, 0, 0, count, static_cast<const char*>(input), static_cast<char*>(output)});
}
int ncclSend(const void* input, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add(comm, stream, {send, type, 0, peer, count, static_cast<const char*>(input), nullptr});
}
int ncclRecv(void* output, std::size_t count, int type, int peer, void* comm, void* stream) {
  return add(comm, stream, {receive, type, 0, peer, count, nullptr, static_cast<char*>(output)});
}
}
