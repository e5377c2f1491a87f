#include "transport/transport.hpp"

#include <map>
#include <stdexcept>

namespace commlens::transport {

namespace {
/// Filled before main() by the registrations, constant afterwards.
std::map<int, Description>& registered() {
  static std::map<int, Description> by_place;
  return by_place;
}

class Undivided final : public Exchange {
 public:
  explicit Undivided(std::function<void(device::Stream&)> operation) : operation_(std::move(operation)) {}

  void start(device::Stream& stream) override { operation_(stream); }
  void finish(device::Stream& /*stream*/) override {}

 private:
  std::function<void(device::Stream&)> operation_;
};
}  // namespace

std::unique_ptr<Exchange> undivided(std::function<void(device::Stream& stream)> operation) {
  return std::make_unique<Undivided>(std::move(operation));
}

std::string Transport::form_unsupported(const MessageForm& form) const {
  if (form.blocks.bytes > 0) return "this transport has no derived datatypes: use --packing application";
  if (form.partitions > 0) return "this transport has no partitioned messages: leave --partitions out";
  return "this transport has no " + std::string(name(form.call)) + " messages: leave --call out";
}

std::string Transport::unsupported(const Collective& collective, CallMode mode) const {
  const std::string operation(name(collective.operation));
  if (mode != CallMode::blocking) return "this transport has only blocking calls";
  if (collective.operation == Operation::barrier) return {};
  if (collective.operation != Operation::allreduce) return "this transport has no " + operation;
  return sums(collective.type) ? ""
                               : "this transport has no " + operation + " of " + std::string(name(collective.type));
}

std::unique_ptr<Exchange> Transport::collective(const Collective& collective, CallMode /*mode*/) {
  if (collective.operation == Operation::barrier) return undivided([this](device::Stream& stream) { barrier(stream); });
  if (collective.operation != Operation::allreduce) return nullptr;
  return undivided([this, collective](device::Stream& stream) {
    allreduce(collective.input, collective.output, collective.shape.count, collective.type, stream,
              collective.reduction);
  });
}

Registration::Registration(int place, Description description) {
  if (!registered().emplace(place, std::move(description)).second) {
    throw std::logic_error("two transports are registered in one place");
  }
}

const std::vector<Description>& all() {
  static const std::vector<Description> sorted = [] {
    std::vector<Description> descriptions;
    for (const auto& [place, description] : registered()) descriptions.push_back(description);
    return descriptions;
  }();
  return sorted;
}

std::string shared_gpu(const Setup& setup, std::string_view who) {
  const auto* gpu = setup.device.gpu();
  const auto uuids = setup.communicator.gather(gpu != nullptr ? gpu->uuid : std::string());
  for (std::size_t rank = 0; rank < uuids.size(); ++rank) {
    if (uuids[rank].empty()) return "rank " + std::to_string(rank) + " has no GPU";
    for (std::size_t other = 0; other < rank; ++other) {
      if (uuids[other] == uuids[rank]) {
        return "ranks " + std::to_string(other) + " and " + std::to_string(rank) + " share a GPU (" + uuids[rank] +
               "); " + std::string(who) + " needs one GPU per rank: start at most as many ranks as GPUs";
      }
    }
  }
  return {};
}

}  // namespace commlens::transport
