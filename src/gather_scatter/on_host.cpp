// Combined on the GPU as far as its own nodes go, copied to the host, combined there between the ranks, copied back.
#include "gather_scatter/choice.hpp"
#include "gather_scatter/methods.hpp"

namespace commlens::gather_scatter {

namespace {

class OnHost final : public OnLists {
 public:
  OnHost(SharedLists lists, const Kind& kind, const Surroundings& surroundings)
      : OnLists(std::move(lists), kind),
        values_sharing_(sharing().of_values()),
        stream_(surroundings.device.stream(device::Memory::host)),
        on_gpu_(surroundings.allocate(values_sharing_.nodes * wire_bytes())),
        on_host_(surroundings.allocate_staging(values_sharing_.nodes * wire_bytes())) {
    const Surroundings host{.communicator = surroundings.communicator,
                            .transport = surroundings.transport,
                            .device = surroundings.device,
                            .memory = surroundings.device.staging_memory(),
                            .stream = *stream_,
                            .allocate = surroundings.allocate_staging,
                            .allocate_staging = surroundings.allocate_staging};
    const Choice choice = choose_on_host(sharing(), surroundings);
    const Kind values{.type = kind.wire, .wire = kind.wire, .fields = kind.fields, .combine = kind.combine};
    between_ranks_ = make(choice.timings[choice.used].method, make_lists(values_sharing_, host), values, host);
  }

  void start(void* data, device::Stream& stream) override {
    step(part::pack, stream, [&] { gather(kind(), lists(), data, values(), stream); });
    step(part::exchange, stream, [&] {
      stream.copy(on_host_.data(), on_gpu_.data(), on_host_.bytes());
      stream.wait();
      between_ranks_->start(on_host_.data(), *stream_);
    });
  }

  void finish(void* data, device::Stream& stream) override {
    step(part::exchange, stream, [&] {
      between_ranks_->finish(on_host_.data(), *stream_);
      stream_->wait();
      stream.copy(on_gpu_.data(), on_host_.data(), on_host_.bytes());
    });
    step(part::unpack, stream, [&] { scatter(kind(), lists(), values(), data, stream); });
  }

  void exchange(device::Stream& stream) override {
    stream.wait();
    between_ranks_->exchange(*stream_);
    stream_->wait();
  }

  [[nodiscard]] std::size_t buffer_bytes() const override { return between_ranks_->buffer_bytes(); }
  [[nodiscard]] std::size_t list_bytes() const override { return OnLists::list_bytes() + between_ranks_->list_bytes(); }

 private:
  [[nodiscard]] Values values() const {
    return {.data = on_gpu_.data(), .places = nullptr, .stride = values_sharing_.nodes};
  }

  Sharing values_sharing_;
  std::unique_ptr<device::Stream> stream_;
  device::Buffer on_gpu_;  ///< by fields, and in a field by shared groups
  device::Buffer on_host_;
  std::unique_ptr<GatherScatter> between_ranks_;
};

}  // namespace

std::unique_ptr<GatherScatter> make_on_host(SharedLists lists, const Kind& kind, const Surroundings& surroundings) {
  return std::make_unique<OnHost>(std::move(lists), kind, surroundings);
}

}  // namespace commlens::gather_scatter
