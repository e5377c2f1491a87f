// The transport `staged`: copied to pinned host memory, sent by MPI, copied back. Applications do this if their MPI is
// not GPU-aware, and it is the reference for one that is. In a build without a GPU the stage is pageable host memory.
//
// Every operation has finished when it returns, including its last copy: the next one reuses the stage. Long
// messages are sent in pieces: one is copied while MPI sends another. Persistent messages, blocking ones of an
// exchange, those in blocks, neighbor exchanges and collectives are sent whole.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/by_messages.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_collectives.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

namespace {

/// Of a piece of a long message: docs/messages.md has the times of others. To start a copy costs a GPU as much time as
/// to copy about 100 kB.
constexpr std::size_t piece_bytes = std::size_t{2} << 20;

std::unique_ptr<device::Event> event_for(const device::Stream& stream, device::Device& device) {
  return device.event(stream.on_gpu() ? device::Memory::device : device::Memory::host);
}

void wait_for(device::Event& event) {
  const InCall call(stream_wait_call);
  event.wait();
}

/// Host memory that grows to the largest size requested.
class Stage {
 public:
  explicit Stage(device::Device& device) : device_(device) {}

  std::byte* of(std::size_t bytes) {
    if (bytes > buffer_.bytes() || buffer_.data() == nullptr) {
      buffer_ = {};  // freed first, so that both need not fit at the same time
      buffer_ = device_.allocate(device_.staging_memory(), bytes);
    }
    return buffer_.as<std::byte>();
  }

  /// Recorded after the last copy to or from this half (0 or 1). All streams are of one kind.
  device::Event& copied(std::size_t half, const device::Stream& stream) {
    if (!copied_.at(half)) copied_.at(half) = event_for(stream, device_);
    return *copied_.at(half);
  }

 private:
  device::Device& device_;
  device::Buffer buffer_;
  std::array<std::unique_ptr<device::Event>, 2> copied_;
};

/// Of both directions. Used by one operation at a time, of this transport or of those split from it.
struct Stages {
  explicit Stages(device::Device& device) : outgoing(device), incoming(device) {}

  Stage outgoing;
  Stage incoming;
};

/// Positions on a stage of the messages of an exchange. Messages with one address have one position, as in the caller's
/// memory: a window of 64 messages needs the memory of one. A copy then writes to the position while an earlier message
/// is sent from there, which changes nothing: they have the same bytes, as the caller's memory has.
class Places {
 public:
  explicit Places(const std::vector<Message>& messages) {
    std::map<void*, std::size_t> longest;
    for (const Message& message : messages) longest[message.data] = std::max(longest[message.data], message.bytes);
    for (const auto& [data, bytes] : longest) {
      offsets_[data] = total_;
      total_ += bytes;
    }
  }

  [[nodiscard]] std::size_t total() const { return total_; }

  /// The same messages, at the stage.
  [[nodiscard]] std::vector<Message> on_stage(const std::vector<Message>& messages, std::byte* stage) const {
    std::vector<Message> staged;
    for (const Message& message : messages) {
      staged.push_back({message.peer, stage + offsets_.at(message.data), message.bytes});
    }
    return staged;
  }

 private:
  std::map<void*, std::size_t> offsets_;
  std::size_t total_ = 0;
};

/// The messages of an exchange on a stage of their own.
struct StagedMessages {
  StagedMessages(device::Device& device, const std::vector<Message>& to_send, const std::vector<Message>& to_receive)
      : stage(device.allocate(device.staging_memory(), Places(to_send).total() + Places(to_receive).total())),
        sends(Places(to_send).on_stage(to_send, stage.as<std::byte>())),
        receives(Places(to_receive).on_stage(to_receive, stage.as<std::byte>() + Places(to_send).total())) {}

  device::Buffer stage;
  std::vector<Message> sends;
  std::vector<Message> receives;
};

/// Between the caller's memory and the stage.
struct StageCopy {
  std::byte* data;
  std::byte* staged;
  std::size_t bytes;
};

/// Messages that are adjacent in both memories are copied at once.
std::vector<StageCopy> copies(std::span<const Message> messages, std::span<const Message> staged) {
  std::vector<StageCopy> copies;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const StageCopy next{static_cast<std::byte*>(messages[i].data), static_cast<std::byte*>(staged[i].data),
                         messages[i].bytes};
    const bool adjacent = !copies.empty() && copies.back().data + copies.back().bytes == next.data &&
                          copies.back().staged + copies.back().bytes == next.staged;
    if (adjacent) {
      copies.back().bytes += next.bytes;
    } else {
      copies.push_back(next);
    }
  }
  return copies;
}

/// The messages of one direction that are sent, or received, between two waits, and the copies of their bytes.
struct Batch {
  std::vector<StageCopy> copies;
  std::size_t first = 0;  ///< of its messages
  std::size_t count = 0;
};

/// Each batch has as many messages as fit into one piece; there is one if all fit.
std::vector<Batch> batches(std::span<const Message> messages, std::span<const Message> staged) {
  std::vector<Batch> batches;
  for (std::size_t first = 0, count = 0; first < messages.size(); first += count) {
    std::size_t bytes = messages[first].bytes;
    for (count = 1; first + count < messages.size(); ++count) {
      bytes += messages[first + count].bytes;
      if (bytes > piece_bytes) break;
    }
    batches.push_back({copies(messages.subspan(first, count), staged.subspan(first, count)), first, count});
  }
  return batches;
}

/// Non-blocking messages, of which some are copied while MPI sends or receives others.
class PipelinedExchange final : public Exchange {
 public:
  PipelinedExchange(device::Device& device, const Communicator& communicator, const std::vector<Message>& sends,
                    const std::vector<Message>& receives)
      : device_(device),
        staged_(device, sends, receives),
        out_(batches(sends, staged_.sends)),
        in_(batches(receives, staged_.receives)),
        messages_(communicator, staged_.sends, staged_.receives) {}

  void start(device::Stream& stream) override {
    messages_.post_receives();
    for (std::size_t i = 0; i < std::min(most_ahead, out_.size()); ++i) copy_out(i, stream);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      i + 1 < out_.size() ? wait_for(*copied_[i % most_ahead]) : wait_for_stream(stream);
      messages_.post_sends(out_[i].first, out_[i].count);
      if (i + most_ahead < out_.size()) copy_out(i + most_ahead, stream);
    }
  }

  void finish(device::Stream& stream) override {
    const bool overlaps = in_.size() > 1;
    if (!overlaps) messages_.finish();  // one call instead of several
    for (const Batch& batch : in_) {
      if (overlaps) messages_.finish_receives(batch.first, batch.count);
      for (const StageCopy& copy : batch.copies) stream.copy(copy.data, copy.staged, copy.bytes);
    }
    if (overlaps && !staged_.sends.empty()) messages_.finish_sends();
    wait_for_stream(stream);
  }

 private:
  /// Batches whose copies are in the stream's queue. A GPU's queue takes about a thousand entries, then the host waits.
  static constexpr std::size_t most_ahead = 8;

  void copy_out(std::size_t batch, device::Stream& stream) {
    for (const StageCopy& copy : out_[batch].copies) stream.copy(copy.staged, copy.data, copy.bytes);
    if (batch + 1 == out_.size()) return;  // start() waits for the stream
    auto& event = copied_.at(batch % most_ahead);
    if (!event) event = event_for(stream, device_);
    stream.record(*event);
  }

  device::Device& device_;
  StagedMessages staged_;
  std::vector<Batch> out_;
  std::vector<Batch> in_;
  std::array<std::unique_ptr<device::Event>, most_ahead> copied_;  ///< that of batch i is number i modulo most_ahead
  mpi_calls::Messages messages_;
};

/// `Messages` are those of mpi_calls: messages in another form, or one call for all.
template <class Messages>
class StagedExchange final : public Exchange {
 public:
  template <class... Form>
  StagedExchange(device::Device& device, const Communicator& communicator, const std::vector<Message>& sends,
                 const std::vector<Message>& receives, const Form&... form)
      : staged_(device, sends, receives),
        out_(copies(sends, staged_.sends)),
        in_(copies(receives, staged_.receives)),
        messages_(communicator, staged_.sends, staged_.receives, form...) {}

  void start(device::Stream& stream) override {
    for (const StageCopy& copy : out_) stream.copy(copy.staged, copy.data, copy.bytes);
    wait_for_stream(stream);
    messages_.start();
  }

  void finish(device::Stream& stream) override {
    messages_.finish();
    for (const StageCopy& copy : in_) stream.copy(copy.data, copy.staged, copy.bytes);
    wait_for_stream(stream);
  }

 private:
  StagedMessages staged_;
  std::vector<StageCopy> out_;
  std::vector<StageCopy> in_;
  Messages messages_;
};

class StagedCollective final : public Exchange {
 public:
  StagedCollective(device::Device& device, const Communicator& communicator, const Collective& collective,
                   CallMode mode)
      : input_(collective.input),
        output_(collective.output),
        input_bytes_(collective.description().input(collective.shape) * size_of(collective.type)),
        output_bytes_(collective.description().output(collective.shape) * size_of(collective.type)),
        stage_(device.allocate(device.staging_memory(), bytes_of(collective))),
        staged_(on_stage(collective)),
        results_(results()),
        messages_(communicator, staged_, mode) {}

  void start(device::Stream& stream) override {
    stream.copy(const_cast<void*>(staged_.input), input_, input_bytes_);  // the stage is not const
    wait_for_stream(stream);
    messages_.start();
  }

  void finish(device::Stream& stream) override {
    messages_.finish();
    for (const StageCopy& copy : results_) stream.copy(copy.data, copy.staged, copy.bytes);
    wait_for_stream(stream);
  }

 private:
  [[nodiscard]] std::size_t bytes_of(const Collective& collective) const {
    if (!collective.in_place) return input_bytes_ + output_bytes_;
    const InPlaceOffsets begin = collective.description().in_place(collective.shape);
    return std::max(begin.input * size_of(collective.type) + input_bytes_,
                    begin.output * size_of(collective.type) + output_bytes_);
  }

  /// The same on the stage: in place too, or the output behind the input.
  [[nodiscard]] Collective on_stage(Collective collective) const {
    const InPlaceOffsets begin =
        collective.in_place ? collective.description().in_place(collective.shape) : InPlaceOffsets{};
    auto* const stage = stage_.as<std::byte>();
    collective.input = stage + begin.input * size_of(collective.type);
    collective.output = stage + (collective.in_place ? begin.output * size_of(collective.type) : input_bytes_);
    return collective;
  }

  /// Of what the operation writes: there may be elements between them which it must leave as they are.
  [[nodiscard]] std::vector<StageCopy> results() const {
    const std::size_t size = size_of(staged_.type);
    std::vector<Message> to;
    std::vector<Message> from;
    for (const Block& block : staged_.blocks()) {
      to.push_back({block.first, static_cast<std::byte*>(output_) + block.output * size, block.count * size});
      from.push_back({block.first, static_cast<std::byte*>(staged_.output) + block.output * size, block.count * size});
    }
    return copies(to, from);
  }

  const void* input_;
  void* output_;
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  device::Buffer stage_;
  Collective staged_;
  std::vector<StageCopy> results_;
  MpiCollective messages_;
};

/// A long message of which MPI has one half of the stage, and the stream the other.
class Halves {
 public:
  Halves(device::Stream& stream, Stage& stage, std::size_t bytes)
      : stream_(stream),
        data_(stage.of(2 * piece_bytes)),
        bytes_(bytes),
        copied_{stage.copied(0, stream), stage.copied(1, stream)} {}

  [[nodiscard]] std::size_t pieces() const { return (bytes_ + piece_bytes - 1) / piece_bytes; }
  [[nodiscard]] std::size_t length(std::size_t piece) const {
    return std::min(piece_bytes, bytes_ - piece * piece_bytes);
  }
  [[nodiscard]] std::byte* staged(std::size_t piece) const { return data_ + piece % 2 * piece_bytes; }

  void copy_out(std::size_t piece, const void* data) {
    stream_.copy(staged(piece), static_cast<const std::byte*>(data) + piece * piece_bytes, length(piece));
    stream_.record(copied_[piece % 2]);
  }
  void copy_in(std::size_t piece, void* data) {
    stream_.copy(static_cast<std::byte*>(data) + piece * piece_bytes, staged(piece), length(piece));
    stream_.record(copied_[piece % 2]);
  }
  /// Waits for the last copy to or from the half of this piece.
  void wait(std::size_t piece) { wait_for(copied_[piece % 2]); }

 private:
  device::Stream& stream_;
  std::byte* data_;
  std::size_t bytes_;
  std::array<std::reference_wrapper<device::Event>, 2> copied_;
};

class StagedTransport final : public Transport {
 public:
  StagedTransport(Communicator communicator, device::Device& device, std::shared_ptr<Stages> stages)
      : communicator_(std::move(communicator)), device_(device), stages_(std::move(stages)) {}

  void send(const void* data, std::size_t bytes, int to, device::Stream& stream) override {
    if (bytes > piece_bytes) return send_pieces(data, bytes, to, stream);
    std::byte* stage = stages_->outgoing.of(bytes);
    stream.copy(stage, data, bytes);
    wait_for_stream(stream);
    mpi_calls::send(communicator_, stage, bytes, to);
  }

  void receive(void* data, std::size_t bytes, int from, device::Stream& stream) override {
    if (bytes > piece_bytes) return receive_pieces(data, bytes, from, stream);
    std::byte* stage = stages_->incoming.of(bytes);
    mpi_calls::receive(communicator_, stage, bytes, from);
    stream.copy(data, stage, bytes);
    wait_for_stream(stream);
  }

  std::unique_ptr<Exchange> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
    return std::make_unique<PipelinedExchange>(device_, communicator_, mpi_calls::cut(sends, piece_bytes),
                                               mpi_calls::cut(receives, piece_bytes));
  }

  [[nodiscard]] std::string form_unsupported(const MessageForm& form) const override {
    return form.blocks.bytes > 0 ? Transport::form_unsupported(form) : mpi_calls::form_unsupported(form);
  }
  std::unique_ptr<Exchange> exchange_in_form(const std::vector<Message>& sends, const std::vector<Message>& receives,
                                             const MessageForm& form) override {
    if (form.call == CallMode::nonblocking && form.blocks.bytes == 0) return exchange(sends, receives);
    return std::make_unique<StagedExchange<mpi_calls::Messages>>(device_, communicator_, sends, receives, form);
  }

  std::unique_ptr<Exchange> neighbor_exchange(const std::vector<Message>& sends,
                                              const std::vector<Message>& receives) override {
    return std::make_unique<StagedExchange<mpi_calls::NeighborMessages>>(device_, communicator_, sends, receives);
  }
  [[nodiscard]] bool has_neighbor_exchange() const override { return mpi_calls::has_neighbor_messages(); }

  [[nodiscard]] bool sums(DataType type) const override { return mpi_reduces(type); }
  void allreduce(const void* input, void* output, std::size_t count, DataType type, device::Stream& stream,
                 Reduction reduction) override {
    const std::size_t bytes = count * size_of(type);
    std::byte* stage = stages_->outgoing.of(bytes);
    stream.copy(stage, input, bytes);
    wait_for_stream(stream);
    mpi_calls::allreduce(communicator_, stage, stage, count, type, reduction);
    stream.copy(output, stage, bytes);
    wait_for_stream(stream);
  }

  void alltoallv(const void* input, std::span<const Piece> sends, void* output, std::span<const Piece> receives,
                 device::Stream& stream) override {
    // Piece by piece: memory between the pieces must not be accessed.
    std::byte* out = stages_->outgoing.of(mpi_calls::extent(sends));
    std::byte* in = stages_->incoming.of(mpi_calls::extent(receives));
    for (const Piece& piece : sends) {
      stream.copy(out + piece.offset, static_cast<const std::byte*>(input) + piece.offset, piece.bytes);
    }
    wait_for_stream(stream);
    mpi_calls::alltoallv(communicator_, out, sends, in, receives);
    for (const Piece& piece : receives) {
      stream.copy(static_cast<std::byte*>(output) + piece.offset, in + piece.offset, piece.bytes);
    }
    wait_for_stream(stream);
  }

  [[nodiscard]] std::string unsupported(const Collective& collective, CallMode mode) const override {
    return mpi_unsupported(collective, mode, device::Memory::pinned);
  }
  [[nodiscard]] bool reduces_by_function(const Collective& collective) const override {
    return MpiReduction::is_ours(collective.reduction, collective.type);
  }
  std::unique_ptr<Exchange> collective(const Collective& collective, CallMode mode) override {
    if (is_by_messages(collective.operation)) return by_messages(*this, collective);
    return std::make_unique<StagedCollective>(device_, communicator_, collective, mode);
  }

  void barrier(device::Stream& stream) override {
    wait_for_stream(stream);
    mpi_calls::barrier(communicator_);
  }

  [[nodiscard]] bool can_split() const override { return true; }
  std::unique_ptr<Transport> split(Communicator ranks) override {
    return std::make_unique<StagedTransport>(std::move(ranks), device_, stages_);
  }

 private:
  void send_pieces(const void* data, std::size_t bytes, int to, device::Stream& stream) {
    Halves halves(stream, stages_->outgoing, bytes);
    halves.copy_out(0, data);
    for (std::size_t piece = 0; piece < halves.pieces(); ++piece) {
      if (piece + 1 < halves.pieces()) halves.copy_out(piece + 1, data);
      halves.wait(piece);
      mpi_calls::send(communicator_, halves.staged(piece), halves.length(piece), to);
    }
    wait_for_stream(stream);
  }

  void receive_pieces(void* data, std::size_t bytes, int from, device::Stream& stream) {
    Halves halves(stream, stages_->incoming, bytes);
    for (std::size_t piece = 0; piece < halves.pieces(); ++piece) {
      halves.wait(piece);
      mpi_calls::receive(communicator_, halves.staged(piece), halves.length(piece), from);
      halves.copy_in(piece, data);
    }
    wait_for_stream(stream);
  }

  Communicator communicator_;
  device::Device& device_;
  std::shared_ptr<Stages> stages_;
};

const Registration staged_registration(2, {.name = "staged",
                                           .description = "copied to pinned host memory, sent by MPI, copied back",
                                           .unsupported = [](const Setup&) { return std::string(); },
                                           .make = [](const Setup& setup) -> std::unique_ptr<Transport> {
                                             return std::make_unique<StagedTransport>(
                                                 Communicator(setup.communicator.handle()), setup.device,
                                                 std::make_shared<Stages>(setup.device));
                                           },
                                           .staging = [](double bytes) { return bytes; }});

}  // namespace

}  // namespace commlens::transport
