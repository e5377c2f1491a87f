// A call that is rerouted, from its start to its end.
#pragma once

#include <cstdint>

#include "agreement.hpp"
#include "gpu.hpp"
#include "operands.hpp"
#include "verification.hpp"

namespace commlens::reroute {

/// Through NCCL, or through pinned memory and MPI, which is done where there is no communicator of NCCL.
class Operation {
 public:
  Operation(const Arguments& arguments, const Operands& operands, const Signature& signature, Device& device,
            CclCommunicator* communicator);
  Operation(Operation&&) = delete;

  /// Starts it. A blocking call of MPI has then ended.
  void begin();
  /// Whether it has ended, or failed. Lets MPI make progress.
  bool is_done();
  /// After that: returns MPI's error.
  int finish();

  /// Whether the data was not in the memory of the GPU.
  [[nodiscard]] bool has_copied() const { return has_copied_; }

  [[nodiscard]] std::uint64_t verification_ticks() const { return verification_.ticks(); }

  // Of a non-blocking call.
  MPI_Request request{};
  Operation* next = nullptr;
  int* result = nullptr;

 private:
  bool begin_ccl();
  bool copy_in();
  void begin_staged();
  bool stage_both();
  bool stage(const Side& side, void*& pinned, bool is_read);
  bool finish_staged();
  bool finish_ccl();
  void give_back();
  int fail();

  Arguments arguments_;
  Operands operands_;
  Signature signature_;
  Device& device_;
  CclCommunicator* ccl_;
  Event event_ = nullptr;
  void* send_copy_ = nullptr;  // null: the program's memory is used
  void* receive_copy_ = nullptr;
  MPI_Request by_mpi_{};  // the staged call, if it is non-blocking
  bool is_by_mpi_ = false;
  bool has_copied_ = false;
  bool has_failed_ = false;
  int error_ = MPI_SUCCESS;
  const char* failure_ = "";
  Verification verification_;
};

/// Gives the call to NCCL; returns its error. The sides are in memory of the GPU: at `copy`, or where the program has
/// them.
int issue(const Arguments& arguments, const Operands& operands, const Signature& signature, char* send_copy,
          char* receive_copy, const CclCommunicator& communicator);

}  // namespace commlens::reroute
