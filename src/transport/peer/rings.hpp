// Messages between the ranks of a node through memory that they share.
//
// From each rank to each other leads a ring of slots, in the memory of the receiver. A short message lies in its
// slot. Of a longer one the slot says where it lies in the sender's buffers, and the receiver copies it from there: one
// copy, where MPI libraries without the kernel's help need two. A sender may change its buffer once the message was
// taken, and only then counts it as sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace commlens::transport::peer {

inline constexpr std::size_t short_message = 104;  ///< bytes: with the rest of a slot two cache lines

struct alignas(128) Slot {
  std::atomic<std::uint64_t> number{0};  ///< of the message that it holds, from 1; written last
  std::uint64_t bytes = 0;
  const std::byte* data = nullptr;  ///< of a longer message: as its sender sees it
  std::byte content[short_message];
};

/// The messages of one rank to one other, in order.
struct Ring {
  static constexpr std::size_t length = 64;

  [[nodiscard]] Slot& slot(std::uint64_t number) { return slots[number % length]; }

  Slot slots[length];
  alignas(128) std::atomic<std::uint64_t> taken{0};  ///< of the last message that the receiver has, written by it
};

/// Of one rank. Not thread-safe.
class Rings {
 public:
  /// Number of a message on its ring, from 1.
  using Number = std::uint64_t;
  /// Where this rank finds what rank `sender` sees at `data`.
  using Find = std::function<const std::byte*(int sender, const std::byte* data)>;

  /// Of `rank` among so many. The rings outlive this.
  Rings(int rank, int ranks, const std::function<Ring&(int from, int to)>& ring, Find find);

  /// Both return at once. Messages of a pair match in this order.
  Number post_send(int to, const void* data, std::size_t bytes);
  Number post_receive(int from, void* data, std::size_t bytes);
  /// Until the buffer of the message is the caller's again. Whatever else was posted proceeds meanwhile. Throws Error
  /// for a message that is longer than the buffer for it.
  void wait_sent(int to, Number number);
  void wait_received(int from, Number number);
  /// Called while wait_sent() and wait_received() wait.
  void while_waiting(const std::function<void()>& work) { work_ = work; }
  [[nodiscard]] const std::function<void()>& work() const { return work_; }
  /// Does for the messages that were posted what can be done now.
  void proceed();

 private:
  struct Send {
    const std::byte* data;
    std::size_t bytes;
  };
  struct Receive {
    std::byte* data;
    std::size_t bytes;
  };
  struct Outgoing {
    Ring* ring;
    Number posted = 0;         ///< of the last message for which the caller asked
    Number written = 0;        ///< of the last one in the ring
    Number last_long = 0;      ///< of the last one whose content is not in its slot
    std::deque<Send> waiting;  ///< for a free slot
  };
  struct Incoming {
    Ring* ring;
    Number posted = 0;
    Number received = 0;
    std::deque<Receive> waiting;
  };

  static bool write(Outgoing& out, const Send& message);
  void write_waiting(Outgoing& out);
  bool receive_next(int from);
  [[nodiscard]] Outgoing& outgoing(int rank) { return outgoing_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Incoming& incoming(int rank) { return incoming_[static_cast<std::size_t>(rank)]; }

  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  Find find_;
  std::function<void()> work_;
  std::size_t waiting_ = 0;  ///< sends and receives
};

}  // namespace commlens::transport::peer
