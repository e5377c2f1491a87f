// What the hardware gives for the bytes of a message: copies by the rank itself, in the same run, or between nodes a
// TCP connection, or the nominal rate of the network; for the bytes of a computation: passes over memory; and for its
// arithmetic: matrix products, or multiply-adds in registers. The best rate counts: of rounds that end when it rises no
// more (measure/peak.hpp), once per start for each kind of work, and of a few more after each case.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "harness/tcp_stream.hpp"
#include "measure/peak.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"

namespace commlens {

/// On the host memcpy writes long copies past the caches, which messages do not: they are copied in pieces, too. A
/// message may go through a relay that stays in a cache: one rank copies out to it, and another one copies in from it.
enum class CopyWay { whole, pieces, out, in };

/// Two buffers and a stream that copies from one to the other.
struct Copier {
  device::Buffer source;
  device::Buffer destination;
  std::unique_ptr<device::Stream> stream;

  /// Seconds of each of `count` copies.
  [[nodiscard]] double time(std::size_t count, CopyWay way = CopyWay::whole) const;
};

class Ceilings {
 public:
  /// Seconds that the case has taken; nothing before it. What is not known yet is measured until it rises no more; what
  /// is known is measured again after a case, for a part of its time, and the better one counts.
  using CaseTime = std::optional<double>;

  /// Of copies.
  struct Outcome {
    std::optional<measure::Ceiling> ceiling;
    std::string reason;  ///< why there is none
  };

  /// `placement` is of all ranks, and outlives this. `streams`: how nodes connect to each other.
  Ceilings(const transport::Communicator& communicator, device::Device& device,
           const std::vector<measure::Placement>& placement, TcpStream::Settings streams = {});

  /// Collective, with equal bytes on all ranks. `mine` and `theirs` are the memories copied from and to. Nothing where
  /// there is no such copy: a GPU that this process does not see, nodes between which there is no connection. The same
  /// on all ranks.
  Outcome measure(const CopyCeiling& ceiling, device::Memory mine, device::Memory theirs, CaseTime case_s);
  /// Collective. Nothing where a rank has no room for the arrays.
  std::optional<measure::Ceiling> measure(const MemoryCeiling& ceiling, device::Memory memory, CaseTime case_s);
  /// Collective, with the same shape on all ranks. `blas` multiplies in `memory`, where the product's matrices are.
  /// Nothing where a rank has no room for a square product.
  std::optional<measure::Ceiling> measure(const GemmCeiling& ceiling, device::Blas& blas, device::Memory memory,
                                          CaseTime case_s);
  /// Collective: each of the calls by itself, on the stream, after a case of so many seconds.
  [[nodiscard]] measure::Ceiling measure(const CallCeiling& ceiling, device::Stream& stream, double case_s) const;

 private:
  /// Work that is done `count` times, and has ended on return.
  struct Way {
    double work;  ///< of a single time: bytes, or floating-point operations
    std::function<void(std::size_t count)> repeat;
  };

  /// A rate, and what has reached it.
  struct Peak {
    double rate = 0;
    std::string method;
    std::size_t n = 0;  ///< of a square product
    CaseTime case_s;    ///< of the case after which it was measured last

    [[nodiscard]] Peak or_better(const Peak& other) const { return other.rate > rate ? other : *this; }
  };

  struct Copy {
    std::string name;
    std::string reason;  ///< why there is no such copy; empty if there is
    bool to_another_node = false;
    bool some_on_gpu = false;  ///< some rank copies from or to a GPU
    bool some_away = false;    ///< some rank copies to another node
    device::Device* destination = nullptr;
    device::Memory from = device::Memory::host;
    device::Memory to = device::Memory::host;
  };

  /// The connections of a set of peers, and what large messages on them have needed.
  struct Stream {
    std::unique_ptr<TcpStream> connections;
    std::optional<double> seconds_per_byte;
  };

  Copy plan(const CopyCeiling& ceiling, device::Memory mine, device::Memory theirs);
  device::Device* peer_device(const std::string& uuid);
  /// Collective: the best that is known of copies of that size.
  Outcome best_copy(const CopyCeiling& ceiling, const Copy& copy, CaseTime case_s);
  Outcome measure_copy(const CopyCeiling& ceiling, const Copy& copy, const measure::PeakLimits& limits);
  /// Collective. The buffers of the ranks that copy; nothing where one of them has no room for them.
  std::optional<Copier> copier(bool copies, const Copy& copy, std::size_t bytes);
  /// Collective, of copies of `wanted` bytes. Nothing where a rank has no room for them.
  std::optional<double> seconds_of(bool copies, std::size_t wanted, const Copy& copy,
                                   const measure::PeakLimits& limits);

  /// Collective: where some of the peers are on other nodes. The others copy at the same time.
  Outcome between_nodes(const CopyCeiling& ceiling, const Copy& copy);
  Outcome link_rate(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers);
  Outcome tcp_stream(const CopyCeiling& ceiling, const Copy& copy, const std::vector<int>& peers);
  /// Collective. Of a message, with copies of as many bytes at the same time.
  std::optional<double> seconds_of_stream(TcpStream& stream, bool copies, std::size_t bytes, const Copy& copy);

  /// Collective: the best rate of each way, in rounds of about `round_s` each.
  [[nodiscard]] std::vector<double> peak_rates(const std::vector<Way>& ways, double round_s,
                                               const measure::PeakLimits& limits) const;
  [[nodiscard]] bool any_on_gpu(device::Memory memory) const;  ///< Collective: some rank's memory is
  using Measure = std::function<Peak(const Peak& known, const measure::PeakLimits& limits)>;
  /// Collective: the best that is known of what all ranks do; `measure` is called where that is due.
  const Peak& peak(const std::string& work, bool some_on_gpu, CaseTime case_s, const Measure& measure);
  /// Collective. Of the passes over `bytes`; a rate of 0 where a rank has no room for them.
  Peak passes(device::Memory memory, std::size_t bytes, const measure::PeakLimits& limits);
  /// Collective. The rate of a product, back to back.
  double rate_of(const device::Gemm& gemm, device::Blas& blas, device::Memory memory,
                 const measure::PeakLimits& limits) const;
  std::optional<device::Buffer> allocate_on_all(device::Memory memory, std::size_t bytes);
  /// Collective. Of the square product that is fastest, of those as large as they need be and as all ranks have room
  /// for.
  Peak square_products(DataType type, device::Blas& blas, device::Memory memory, const Peak& known,
                       const measure::PeakLimits& limits);
  /// Collective. Of one of them; a rate of 0 where a rank has no room for it.
  Peak square_product(DataType type, std::size_t n, device::Blas& blas, device::Memory memory,
                      const measure::PeakLimits& limits);
  /// Collective. Of multiply-adds in registers, on all cores of the host.
  [[nodiscard]] Peak multiply_adds(DataType type, const measure::PeakLimits& limits) const;

  const transport::Communicator& communicator_;
  device::Device& device_;
  const std::vector<measure::Placement>& placement_;  ///< by rank
  TcpStream::Settings stream_settings_;
  std::vector<std::string> hosts_;
  std::vector<std::string> gpus_;  ///< uuids by rank
  std::map<std::string, std::unique_ptr<device::Device>> peers_;
  std::map<std::vector<std::string>, Outcome> known_;  ///< by the bytes, and what each rank does with them
  std::map<std::vector<int>, Stream> streams_;         ///< by the peers of all ranks, -1: none
  std::map<std::vector<std::string>, Peak> peaks_;     ///< by what each rank does
};

}  // namespace commlens
