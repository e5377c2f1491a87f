#include "benchmarks/xtx/pipeline.hpp"

namespace commlens::xtx {

Pipeline::Pipeline(Run& run, const Options& options)
    : run_(run),
      options_(options),
      blocks_(options.blocks()),
      rows_(Share::of(options.dofs, run.rank(), run.ranks()).count),
      x_(run.buffer(options.bytes(rows_ * options.vectors))),
      slots_(run.buffer(options.slots(blocks_) * options.bytes(blocks_.elements(0)))),
      s_(options.copy ? run.staging_buffer(options.bytes(blocks_.elements())) : device::Buffer()),
      gram_(run, options.type(), options.dofs, options.vectors),
      compute_(run.concurrent_stream(device::Priority::normal)),
      done_(run.event()) {
  if (options.overlap) communication_ = run.concurrent_stream(options.priority);
  for (std::size_t slot = 0; slot < options.slots(blocks_); ++slot) {
    multiplied_.push_back(run.event());
    free_.push_back(run.event());
  }
}

std::byte* Pipeline::slot(std::size_t step) const {
  return slots_.as<std::byte>() + step % multiplied_.size() * options_.bytes(blocks_.elements(0));
}

/// X by rows is X^T by columns, as the BLAS stores matrices. A tall block is S^T = X^T conj(X) by columns from the
/// diagonal down, which is S by rows from the diagonal on; a wide one is its adjoint, S by rows from the diagonal down.
device::Gemm Pipeline::product(std::size_t step) const {
  const std::size_t block = block_of(step);
  const std::byte* from = x_.as<std::byte>() + options_.bytes(blocks_.first(block));
  const bool tall = options_.layout == Layout::tall;
  const std::size_t rows = tall ? blocks_.length(block) : blocks_.width_of(block);
  const std::size_t columns = tall ? blocks_.width_of(block) : blocks_.length(block);
  return {.type = options_.type(),
          .b_operation = device::Operation::adjoint,
          .m = rows,
          .n = columns,
          .k = rows_,
          .a = from,
          .lda = options_.vectors,
          .b = from,
          .ldb = options_.vectors,
          .c = slot(step),
          .ldc = rows,
          .tune = options_.tune};
}

void Pipeline::reduce(std::size_t step) {
  run_.transport().allreduce(slot(step), slot(step), blocks_.elements(block_of(step)), options_.type(),
                             communication());
}

void Pipeline::copy(std::size_t step) {
  if (!options_.copy) return;
  const std::size_t block = block_of(step);
  communication().copy(s_.as<std::byte>() + options_.bytes(blocks_.elements_before(block)), slot(step),
                       options_.bytes(blocks_.elements(block)));
}

/// A transport that blocks the host must find the next product queued: so all slots but one go ahead. The host waits
/// for a slot to be free, although its stream does so too: then it is never more than that ahead, and the watchdog sees
/// progress.
void Pipeline::operate(StepObserver* observer) {
  const std::size_t slots = multiplied_.size();
  for (std::size_t next = 0; next < blocks_.count() + slots - 1; ++next) {
    if (next < blocks_.count()) {
      wait_for_slot(next);
      compute_->wait_for(*free_[next % slots]);
      observed(observer, part::multiplications, *compute_, [&] { multiply(next); }, block_of(next));
      compute_->record(*multiplied_[next % slots]);
    }
    if (next + 1 < slots) continue;
    const std::size_t step = next + 1 - slots;
    const std::size_t block = block_of(step);
    communication().wait_for(*multiplied_[step % slots]);
    observed(observer, part::reductions, communication(), [&] { reduce(step); }, block);
    if (options_.copy) observed(observer, part::copies, communication(), [&] { copy(step); }, block);
    communication().record(*free_[step % slots]);
  }
  join(communication());  // which has waited for all of the other
}

void Pipeline::wait_for_slot(std::size_t step) {
  free_[step % free_.size()]->wait();
  heartbeat();
}

/// One kind of step for all blocks, on its stream, with no more of them queued than there are slots.
void Pipeline::alone(void (Pipeline::*work)(std::size_t step), device::Stream& stream) {
  for (std::size_t step = 0; step < blocks_.count(); ++step) {
    wait_for_slot(step);
    (this->*work)(step);
    stream.record(*free_[step % free_.size()]);
  }
  join(stream);
}

void Pipeline::join(device::Stream& stream) {
  stream.record(*done_);
  run_.stream().wait_for(*done_);
}

/// New numbers for each round of integers; those in full stay, so that X is written once for all rounds that are timed.
void Pipeline::reset(std::size_t round, Numbers numbers) {
  const std::size_t wanted = numbers == Numbers::integers ? round : 0;
  if (!written_ || *written_ != wanted) gram_.write(x_.data(), numbers, wanted);
  written_ = wanted;
  constexpr unsigned char not_a_number = 0xFF;
  run_.stream().fill(slots_.data(), not_a_number, slots_.bytes());
  if (options_.copy) run_.stream().fill(s_.data(), not_a_number, s_.bytes());
}

/// All blocks on the host; without copies, the last ones, which are still on the device.
Verdict Pipeline::verify() {
  // A GPU compares all of S in no time; on the host every so many rows of a large one.
  constexpr std::size_t most_on_host = 20'000'000;
  const std::size_t every = on_gpu(run_.memory()) ? 1 : 1 + blocks_.elements() / most_on_host;
  const std::size_t kept = options_.copy ? blocks_.count() : multiplied_.size();
  Verdict verdict;
  for (std::size_t step = blocks_.count() - kept; step < blocks_.count(); ++step) {
    const std::size_t block = block_of(step);
    const void* data = options_.copy ? s_.as<std::byte>() + options_.bytes(blocks_.elements_before(block)) : slot(step);
    const auto shape = product(step);  // by columns; S is compared by rows
    const Verdict of_block =
        gram_.compare(data, {.first = blocks_.first(block), .rows = shape.n, .columns = shape.m}, every);
    verdict.elements += of_block.elements;
    if (verdict.error.empty()) verdict.error = of_block.error;
  }
  return verdict;
}

}  // namespace commlens::xtx
