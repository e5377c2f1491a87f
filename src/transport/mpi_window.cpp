#include "transport/mpi_window.hpp"

#include <mpi.h>

#include <exception>
#include <vector>

#include "transport/activity.hpp"
#include "transport/mpi_calls.hpp"
#include "transport/mpi_types.hpp"

namespace commlens::transport {

namespace {

const Call put_call{"MPI_Put"};
const Call get_call{"MPI_Get"};
const Call accumulate_call{"MPI_Accumulate"};
const Call get_accumulate_call{"MPI_Get_accumulate"};
const Call fetch_and_op_call{"MPI_Fetch_and_op"};
const Call compare_and_swap_call{"MPI_Compare_and_swap"};
const Call fence_call{"MPI_Win_fence"};
const Call post_call{"MPI_Win_post"};
const Call start_call{"MPI_Win_start"};
const Call complete_call{"MPI_Win_complete"};
const Call window_wait_call{"MPI_Win_wait"};
const Call lock_call{"MPI_Win_lock"};
const Call unlock_call{"MPI_Win_unlock"};
const Call lock_all_call{"MPI_Win_lock_all"};
const Call unlock_all_call{"MPI_Win_unlock_all"};
const Call flush_call{"MPI_Win_flush"};
const Call flush_local_call{"MPI_Win_flush_local"};
const Call win_call{"making or freeing a window"};

MPI_Datatype native(AtomicType type) { return mpi_type(data_type(type)); }

class MpiWindow final : public Window {
 public:
  MpiWindow(const Communicator& communicator, WindowCreation creation, void* data, std::size_t bytes)
      : data_(data), bases_(static_cast<std::size_t>(communicator.size())) {
    const InCall call(win_call);
    create(communicator.handle(), creation, static_cast<MPI_Aint>(bytes));
    CALL_MPI(MPI_Win_set_errhandler, window_, MPI_ERRORS_RETURN);
    MPI_Group all = MPI_GROUP_NULL;
    CALL_MPI(MPI_Comm_group, communicator.handle(), &all);
    const int rank = communicator.rank();
    CALL_MPI(MPI_Group_excl, all, 1, &rank, &others_);
    MPI_Group_free(&all);
  }
  MpiWindow(MpiWindow&&) = delete;
  ~MpiWindow() override {
    if (std::uncaught_exceptions() > 0) return;  // which ends the job: the other ranks may not come here
    const InCall call(win_call);
    MPI_Group_free(&others_);
    if (is_attached_) MPI_Win_detach(window_, data_);
    MPI_Win_free(&window_);
  }

  [[nodiscard]] void* data() const override { return data_; }

  void put(const void* data, std::size_t bytes, int target, std::size_t offset) override {
    mpi_calls::in_pieces(bytes, mpi_calls::longest_message, [&](std::size_t first, int count) {
      const InCall call(put_call);
      CALL_MPI(MPI_Put, static_cast<const std::byte*>(data) + first, count, MPI_BYTE, target,
               at(target, offset + first), count, MPI_BYTE, window_);
    });
  }

  void get(void* data, std::size_t bytes, int target, std::size_t offset) override {
    mpi_calls::in_pieces(bytes, mpi_calls::longest_message, [&](std::size_t first, int count) {
      const InCall call(get_call);
      CALL_MPI(MPI_Get, static_cast<std::byte*>(data) + first, count, MPI_BYTE, target, at(target, offset + first),
               count, MPI_BYTE, window_);
    });
  }

  void accumulate(const void* data, std::size_t count, AtomicType type, int target) override {
    const std::size_t size = size_of(type);
    mpi_calls::in_pieces(count, mpi_calls::longest_message / size, [&](std::size_t first, int elements) {
      const InCall call(accumulate_call);
      CALL_MPI(MPI_Accumulate, static_cast<const std::byte*>(data) + first * size, elements, native(type), target,
               at(target, first * size), elements, native(type), MPI_SUM, window_);
    });
  }

  void get_accumulate(const void* data, void* before, std::size_t count, AtomicType type, int target) override {
    const std::size_t size = size_of(type);
    mpi_calls::in_pieces(count, mpi_calls::longest_message / size, [&](std::size_t first, int elements) {
      const InCall call(get_accumulate_call);
      CALL_MPI(MPI_Get_accumulate, static_cast<const std::byte*>(data) + first * size, elements, native(type),
               static_cast<std::byte*>(before) + first * size, elements, native(type), target, at(target, first * size),
               elements, native(type), MPI_SUM, window_);
    });
  }

  void fetch_and_add(const void* value, void* before, AtomicType type, int target) override {
    const InCall call(fetch_and_op_call);
    CALL_MPI(MPI_Fetch_and_op, value, before, native(type), target, at(target, 0), MPI_SUM, window_);
  }

  void compare_and_swap(const void* value, const void* expected, void* before, AtomicType type, int target) override {
    const InCall call(compare_and_swap_call);
    // SMPI has no const there.
    CALL_MPI(MPI_Compare_and_swap, value, const_cast<void*>(expected), before, native(type), target, at(target, 0),
             window_);
  }

  void fence() override {
    const InCall call(fence_call);
    CALL_MPI(MPI_Win_fence, 0, window_);
  }
  void post() override {
    const InCall call(post_call);
    CALL_MPI(MPI_Win_post, others_, 0, window_);
  }
  void start() override {
    const InCall call(start_call);
    CALL_MPI(MPI_Win_start, others_, 0, window_);
  }
  void complete() override {
    const InCall call(complete_call);
    CALL_MPI(MPI_Win_complete, window_);
  }
  void wait() override {
    const InCall call(window_wait_call);
    CALL_MPI(MPI_Win_wait, window_);
  }
  void lock(int target, bool exclusive) override {
    const InCall call(lock_call);
    CALL_MPI(MPI_Win_lock, exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, window_);
  }
  void unlock(int target) override {
    const InCall call(unlock_call);
    CALL_MPI(MPI_Win_unlock, target, window_);
  }
  void lock_all() override {
    const InCall call(lock_all_call);
    CALL_MPI(MPI_Win_lock_all, 0, window_);
  }
  void unlock_all() override {
    const InCall call(unlock_all_call);
    CALL_MPI(MPI_Win_unlock_all, window_);
  }
  void flush(int target) override {
    const InCall call(flush_call);
    CALL_MPI(MPI_Win_flush, target, window_);
  }
  void flush_local(int target) override {
    const InCall call(flush_local_call);
    CALL_MPI(MPI_Win_flush_local, target, window_);
  }

 private:
  void create(MPI_Comm communicator, WindowCreation creation, MPI_Aint bytes) {
    switch (creation) {
      case WindowCreation::allocate:
        CALL_MPI(MPI_Win_allocate, bytes, 1, MPI_INFO_NULL, communicator, static_cast<void*>(&data_), &window_);
        return;
      case WindowCreation::create:
        CALL_MPI(MPI_Win_create, data_, bytes, 1, MPI_INFO_NULL, communicator, &window_);
        return;
      case WindowCreation::dynamic:
        break;
    }
    CALL_MPI(MPI_Win_create_dynamic, MPI_INFO_NULL, communicator, &window_);
    CALL_MPI(MPI_Win_attach, window_, data_, bytes);
    is_attached_ = true;
    MPI_Aint address = 0;
    CALL_MPI(MPI_Get_address, data_, &address);
    CALL_MPI(MPI_Allgather, &address, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, communicator);
  }

  [[nodiscard]] MPI_Aint at(int target, std::size_t offset) const {
    return bases_[static_cast<std::size_t>(target)] + static_cast<MPI_Aint>(offset);
  }

  void* data_;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Group others_ = MPI_GROUP_NULL;
  bool is_attached_ = false;
  std::vector<MPI_Aint> bases_;  ///< by target: in a dynamic window places are addresses of the target
};

}  // namespace

std::unique_ptr<Window> make_mpi_window(const Communicator& communicator, WindowCreation creation, void* data,
                                        std::size_t bytes) {
  return std::make_unique<MpiWindow>(communicator, creation, data, bytes);
}

}  // namespace commlens::transport
