#include "benchmarks/replay/stage.hpp"

#include "benchmarks/replay/blocks.hpp"

namespace commlens::replay {

Stage::Stage(Run& run, const device::Buffer& memory, const std::vector<TraceType>& types)
    : stream_(run.stream()),
      memory_(memory),
      types_(types),
      host_(device::on_gpu(run.memory()) ? run.staging_buffer(memory.bytes())
                                         : run.device().allocate(run.device().staging_memory(), memory.bytes())) {}

void Stage::copy_out(const Arguments& call, const Shape& shape) {
  for_each_sent(call, shape, types_,
                [&](std::byte* begin, std::size_t bytes) { stream_.copy(place_of(begin), begin, bytes); });
  stream_.wait();
}

void Stage::copy_in(const Arguments& call, const Shape& shape, const MPI_Status& status) {
  for_each_received(call, shape, types_, status,
                    [&](std::byte* begin, std::size_t bytes) { stream_.copy(begin, place_of(begin), bytes); });
  stream_.wait();
}

}  // namespace commlens::replay
