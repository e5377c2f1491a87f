#include "operation.hpp"

#include "copies.hpp"

namespace commlens::reroute {

Operation::Operation(const Arguments& arguments, const Operands& operands, const Signature& signature, Device& device,
                     CclCommunicator* communicator)
    : arguments_(arguments),
      operands_(operands),
      signature_(signature),
      device_(device),
      ccl_(communicator),
      verification_(arguments_, operands_, signature_, device_) {}

void Operation::begin() {
  const OnDevice current(device_);
  if (!verification_.begin()) {
    has_failed_ = true;
    failure_ = "there is no memory for --verify";
  }
  if (!has_failed_ && ccl_ == nullptr) begin_staged();
  if (!has_failed_ && ccl_ != nullptr) has_failed_ = !begin_ccl();
  if (has_failed_ && ccl_ != nullptr) ccl_->fail();
}

bool Operation::copy_in() {
  bool is_copied = false;
  if (!is_resident(operands_.send, device_)) {
    is_copied = true;
    send_copy_ = device_.memory.take(operands_.send.total());
    if (send_copy_ == nullptr) return false;
    if (!pack(device_, operands_.send, static_cast<char*>(send_copy_))) return false;
  }
  const bool is_away = !is_resident(operands_.receive, device_);
  if (is_away || needs_other_memory(arguments_, operands_)) {
    is_copied = is_copied || is_away;
    receive_copy_ = device_.memory.take(operands_.receive.total());
    if (receive_copy_ == nullptr) return false;
    // The root's own part of MPI_Gather is there already.
    const bool has_own = operands_.is_in_place && base_of(arguments_.function) == Function::gather;
    if (has_own && !pack(device_, operands_.receive, static_cast<char*>(receive_copy_))) return false;
  }
  has_copied_ = is_copied;
  if (is_copied) reroute.adder().add(reroute.tally(arguments_.function).local_copies, 1);
  return true;
}

bool Operation::begin_ccl() {
  failure_ = "NCCL has failed before, here or on another rank";
  if (ccl_->has_failed()) return false;
  failure_ = "the data cannot be copied to the GPU";
  if (!copy_in()) return false;
  failure_ = "the GPU has failed";
  event_ = device_.take_event();
  if (event_ == nullptr || !device_.wait_for_default_stream(ccl_->stream())) return false;
  const ScopedLock lock(ccl_->lock());
  const int error = issue(arguments_, operands_, signature_, static_cast<char*>(send_copy_),
                          static_cast<char*>(receive_copy_), *ccl_);
  if (error != 0) failure_ = ccl.get_error_string(error);
  return error == 0 && Device::record(event_, ccl_->stream());
}

bool Operation::is_done() {
  if (has_failed_) return true;
  if (!verification_.is_done()) return false;
  if (is_by_mpi_) {
    int is_complete = 0;
    error_ = reroute.mpi.test(&by_mpi_, &is_complete, MPI_STATUS_IGNORE);
    return is_complete != 0 || error_ != MPI_SUCCESS;
  }
  if (ccl_ == nullptr) return true;
  const Device::State state = Device::state_of(event_);
  if (state == Device::State::running) ccl_->poll();
  has_failed_ = state == Device::State::failed || ccl_->has_failed();  // what NCCL gives up ends, too
  if (!has_failed_) return state == Device::State::done;
  failure_ = "NCCL has failed, here or on another rank";
  ccl_->fail();
  return true;
}

bool Operation::finish_ccl() {
  failure_ = "the data cannot be copied from the GPU";
  return receive_copy_ == nullptr || unpack(device_, operands_.receive, static_cast<const char*>(receive_copy_));
}

int Operation::finish() {
  const OnDevice current(device_);
  if (!has_failed_ && error_ == MPI_SUCCESS) {
    has_failed_ = ccl_ != nullptr ? !finish_ccl() : !finish_staged();
    if (!has_failed_) verification_.compare();
  }
  give_back();
  return has_failed_ ? fail() : error_;
}

/// A copy that a running operation could still use is left alone.
void Operation::give_back() {
  if (event_ != nullptr && !has_failed_) device_.give_back(event_);
  if (!has_failed_) {
    BufferPool& pool = ccl_ != nullptr ? device_.memory : device_.pinned;
    pool.give_back(send_copy_);
    pool.give_back(receive_copy_);
  }
  verification_.end();
}

/// As MPI does where it fails: the communicator's error handler is called, or what waits for the request gets the
/// error.
int Operation::fail() {
  print_line("rank %d: %s: %s", reroute.rank, function_names[static_cast<int>(arguments_.function)], failure_);
  if (!is_nonblocking(arguments_.function)) reroute.mpi.comm_call_errhandler(arguments_.comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

// Through pinned memory.

bool Operation::stage(const Side& side, void*& pinned, bool is_read) {
  const Side::Span span = side.span();
  if (span.bytes == 0) return true;
  pinned = device_.pinned.take(span.bytes);
  return pinned != nullptr && (!is_read || device_.copy(pinned, span.begin, span.bytes));
}

bool Operation::stage_both() {
  const Side& written = written_side(operands_);
  // A message may be shorter than the buffer.
  const bool has_more = operands_.is_in_place || is_message(arguments_.function);
  return (operands_.is_in_place || stage(operands_.send, send_copy_, true)) && stage(written, receive_copy_, has_more);
}

void Operation::begin_staged() {
  // The other ranks are within MPI's call in any case: without pinned memory it gets the program's.
  if (!stage_both()) {
    device_.pinned.give_back(send_copy_);
    device_.pinned.give_back(receive_copy_);
    send_copy_ = receive_copy_ = nullptr;
  }
  const auto place = [](const void* pinned, const Side& side) {
    return pinned == nullptr ? nullptr
                             : static_cast<char*>(const_cast<void*>(pinned)) + (side.base - side.span().begin);
  };
  char* receive = place(receive_copy_, written_side(operands_));
  const bool is_scatter_in_place = operands_.is_in_place && operands_.receive.blocks == 0;
  Arguments staged = is_scatter_in_place ? with_buffers(arguments_, receive, nullptr)
                                         : with_buffers(arguments_, place(send_copy_, operands_.send), receive);
  is_by_mpi_ = is_nonblocking(arguments_.function);
  if (is_by_mpi_) staged.request = &by_mpi_;
  error_ = pass_on(staged);
}

bool Operation::finish_staged() {
  failure_ = "the data cannot be copied to the GPU";
  const Side& written = written_side(operands_);
  const bool is_read_alone = operands_.receive.blocks == 0;
  if (is_read_alone || receive_copy_ == nullptr) return true;
  // What is between the blocks is not written: the program may write there at the same time.
  const char* begin = written.span().begin;
  char* run = nullptr;  // of blocks without gaps
  std::uint64_t bytes = 0;
  const auto copy_run = [&] {
    return bytes == 0 || device_.enqueue_copy(run, static_cast<const char*>(receive_copy_) + (run - begin), bytes);
  };
  for (int block = 0; block < written.blocks; ++block) {
    if (written.bytes(block) == 0) continue;
    char* place = written.address(block);
    if (place != run + bytes) {
      if (!copy_run()) return false;
      run = place;
      bytes = 0;
    }
    bytes += written.bytes(block);
  }
  return copy_run() && device_.wait_for_copies();
}

}  // namespace commlens::reroute
