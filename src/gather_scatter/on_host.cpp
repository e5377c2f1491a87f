// Each rank combines its own nodes on the GPU and copies the values of shared groups to the host, where they are
// exchanged and combined between the ranks; then they are copied back.
#include <cstddef>
#include <memory>
#include <utility>

#include "gather_scatter/choice.hpp"
#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

namespace {

class OnHost final : public OnLists {
 public:
  OnHost(SharedLists lists, const ValueKind& kind, const Context& context)
      : OnLists(std::move(lists), kind, context),
        values_sharing_(sharing().of_values()),
        host_stream_(context.device.stream(device::Memory::host)),
        gpu_values_(context.allocate(values_sharing_.nodes * exchange_bytes())),
        host_values_(context.allocate_staging(values_sharing_.nodes * exchange_bytes())) {
    const Context host{.communicator = context.communicator,
                       .transport = context.transport,
                       .device = context.device,
                       .memory = context.device.staging_memory(),
                       .stream = *host_stream_,
                       .allocate = context.allocate_staging,
                       .allocate_staging = context.allocate_staging};
    const Choice choice = choose_on_host(sharing(), context);
    const ValueKind values{.type = kind.exchange_type,
                           .exchange_type = kind.exchange_type,
                           .fields = kind.fields,
                           .combine = kind.combine};
    between_ranks_ = make(choice.timings[choice.used].method, make_lists(values_sharing_, host), values, host);
  }

  void start(void* data, device::Stream& stream) override {
    step(part::pack, stream, [&] { gather(kind(), lists(), data, values(), stream); });
    step(part::exchange, stream, [&] {
      stream.copy(host_values_.data(), gpu_values_.data(), host_values_.bytes());
      stream.wait();
      between_ranks_->start(host_values_.data(), *host_stream_);
    });
  }

  void finish(void* data, device::Stream& stream) override {
    step(part::exchange, stream, [&] {
      between_ranks_->finish(host_values_.data(), *host_stream_);
      host_stream_->wait();
      stream.copy(gpu_values_.data(), host_values_.data(), host_values_.bytes());
    });
    step(part::unpack, stream, [&] { scatter(kind(), lists(), values(), data, stream); });
  }

  void exchange(device::Stream& stream) override {
    stream.wait();
    between_ranks_->exchange(*host_stream_);
    host_stream_->wait();
  }

  [[nodiscard]] bool enqueues() const override { return false; }
  [[nodiscard]] std::size_t buffer_bytes() const override { return between_ranks_->buffer_bytes(); }
  [[nodiscard]] std::size_t list_bytes() const override { return OnLists::list_bytes() + between_ranks_->list_bytes(); }

 private:
  [[nodiscard]] Values values() const {
    return {.data = gpu_values_.data(), .indices = nullptr, .stride = values_sharing_.nodes};
  }

  Sharing values_sharing_;
  std::unique_ptr<device::Stream> host_stream_;
  device::Buffer gpu_values_;  ///< field by field, each by shared group
  device::Buffer host_values_;
  std::unique_ptr<GatherScatter> between_ranks_;
};

}  // namespace

std::unique_ptr<GatherScatter> make_on_host(SharedLists lists, const ValueKind& kind, const Context& context) {
  return std::make_unique<OnHost>(std::move(lists), kind, context);
}

}  // namespace commlens::gather_scatter
