// hypre's BoomerAMG, with nekRS's settings.
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <HYPRE_utilities.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/upload.hpp"
#include "sem/trilinear.hpp"
#include "solvers/coarse_solver.hpp"

// Of the OpenMP library that hypre brings, if it does.
extern "C" void omp_set_num_threads(int threads) __attribute__((weak));

namespace commlens::solvers {

namespace {

void check_hypre(HYPRE_Int status, const char* call) {
  if (status == 0) return;
  std::array<char, 256> text{};
  HYPRE_DescribeError(status, text.data());
  throw Error(fmt::format("{} failed: {}", call, text.data()));
}

#define HYPRE_CALL(function, ...) check_hypre(function(__VA_ARGS__), #function)

/// hypre has global state, made once in a process and ended with it. Where it is built with OpenMP (Debian's is), each
/// rank would have a thread on every core: one has to do, unless the user has said otherwise.
void initialize() {
  if (omp_set_num_threads != nullptr && std::getenv("OMP_NUM_THREADS") == nullptr) omp_set_num_threads(1);
  static const int status = HYPRE_Init();
  check_hypre(status, "HYPRE_Init");
}

/// hypre's numbers of rows, which may have 32 bits.
HYPRE_BigInt number(std::int64_t row) { return static_cast<HYPRE_BigInt>(row); }

/// A vector of the owned unknowns.
class Vector {
 public:
  Vector(MPI_Comm communicator, HYPRE_BigInt first, HYPRE_BigInt count) {
    HYPRE_CALL(HYPRE_IJVectorCreate, communicator, first, first + count - 1, &vector_);
    HYPRE_CALL(HYPRE_IJVectorSetObjectType, vector_, HYPRE_PARCSR);
    HYPRE_CALL(HYPRE_IJVectorInitialize, vector_);
    HYPRE_CALL(HYPRE_IJVectorAssemble, vector_);
  }
  Vector(Vector&&) = delete;
  ~Vector() { HYPRE_IJVectorDestroy(vector_); }

  void set(const std::vector<HYPRE_BigInt>& rows, const std::vector<double>& values) {
    HYPRE_CALL(HYPRE_IJVectorSetValues, vector_, static_cast<HYPRE_Int>(rows.size()), rows.data(), values.data());
  }
  void get(const std::vector<HYPRE_BigInt>& rows, std::vector<double>& values) {
    HYPRE_CALL(HYPRE_IJVectorGetValues, vector_, static_cast<HYPRE_Int>(rows.size()), rows.data(), values.data());
  }
  HYPRE_ParVector parallel() {
    void* object = nullptr;
    HYPRE_CALL(HYPRE_IJVectorGetObject, vector_, &object);
    return static_cast<HYPRE_ParVector>(object);
  }

 private:
  HYPRE_IJVector vector_ = nullptr;
};

class Matrix {
 public:
  Matrix(MPI_Comm communicator, const CoarseMatrix& entries) {
    const HYPRE_BigInt first = number(entries.first_row);
    const HYPRE_BigInt last = first + static_cast<HYPRE_BigInt>(entries.rows) - 1;
    HYPRE_CALL(HYPRE_IJMatrixCreate, communicator, first, last, first, last, &matrix_);
    HYPRE_CALL(HYPRE_IJMatrixSetObjectType, matrix_, HYPRE_PARCSR);
    HYPRE_CALL(HYPRE_IJMatrixInitialize, matrix_);
    for (const CoarseMatrix::Entry& entry : entries.entries) {
      HYPRE_Int columns = 1;
      const HYPRE_BigInt row = number(entry.row);
      const HYPRE_BigInt column = number(entry.column);
      HYPRE_CALL(HYPRE_IJMatrixAddToValues, matrix_, 1, &columns, &row, &column, &entry.value);
    }
    HYPRE_CALL(HYPRE_IJMatrixAssemble, matrix_);
  }
  Matrix(Matrix&&) = delete;
  ~Matrix() { HYPRE_IJMatrixDestroy(matrix_); }

  HYPRE_ParCSRMatrix parallel() {
    void* object = nullptr;
    HYPRE_CALL(HYPRE_IJMatrixGetObject, matrix_, &object);
    return static_cast<HYPRE_ParCSRMatrix>(object);
  }

 private:
  HYPRE_IJMatrix matrix_ = nullptr;
};

class BoomerAmg final : public CoarseSolver {
 public:
  BoomerAmg(Level<float>& level, const Context& context, const Observation& observation)
      : level_(level),
        observation_(observation),
        communicator_(context.communicator.handle()),
        entries_((initialize(), coarse_matrix(level.space(), context))),
        matrix_(communicator_, entries_),
        b_(communicator_, number(entries_.first_row), static_cast<HYPRE_BigInt>(entries_.rows)),
        x_(communicator_, number(entries_.first_row), static_cast<HYPRE_BigInt>(entries_.rows)),
        on_host_(context.allocate_staging(level.length() * sizeof(float))) {
    for (std::size_t row = 0; row < entries_.rows; ++row) {
      rows_.push_back(number(entries_.first_row) + static_cast<HYPRE_BigInt>(row));
    }
    values_.resize(rows_.size());
    // hypre 2.26 writes beyond its arrays in the set-up for a matrix without rows.
    if (context.communicator.sum(static_cast<std::int64_t>(entries_.rows)) > 0) set_up();
  }
  BoomerAmg(BoomerAmg&&) = delete;
  ~BoomerAmg() override {
    if (solver_ != nullptr) HYPRE_BoomerAMGDestroy(solver_);
  }

  /// Owned unknowns come first in a vector. Those of other ranks are 0 in the result until the ranks' are added up.
  void solve(const float* b, float* x, device::Stream& stream) override {
    if (solver_ == nullptr) return;
    observed(observation_.observer, coarse_step, stream, [&] {
      auto* const values = on_host_.as<float>();
      stream.copy(values, b, values_.size() * sizeof(float));
      stream.wait();
      for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<double>(values[i]);
      b_.set(rows_, values_);
      for (double& value : values_) value = 0;
      x_.set(rows_, values_);
      HYPRE_CALL(HYPRE_BoomerAMGSolve, solver_, matrix_.parallel(), b_.parallel(), x_.parallel());
      x_.get(rows_, values_);
      for (std::size_t i = 0; i < level_.length(); ++i) {
        values[i] = i < values_.size() ? static_cast<float>(values_[i]) : 0.0F;
      }
      stream.copy(x, values, level_.length() * sizeof(float));
    });
    level_.add_over_ranks(x, stream);
  }

  [[nodiscard]] bool enqueues() const override { return false; }
  [[nodiscard]] std::string description() const override {
    return fmt::format("a V-cycle of hypre {} BoomerAMG on the host", HYPRE_RELEASE_VERSION);
  }
  /// b and x, as far as they are copied.
  [[nodiscard]] double traffic(double /*of_operator*/) const override {
    return 2 * static_cast<double>(level_.length()) * sizeof(float);
  }

 private:
  /// PMIS coarsening, extended+i interpolation, strength 0.25, Chebyshev relaxation.
  void set_up() {
    HYPRE_CALL(HYPRE_BoomerAMGCreate, &solver_);
    HYPRE_CALL(HYPRE_BoomerAMGSetCoarsenType, solver_, 8);
    HYPRE_CALL(HYPRE_BoomerAMGSetInterpType, solver_, 6);
    HYPRE_CALL(HYPRE_BoomerAMGSetStrongThreshold, solver_, 0.25);
    HYPRE_CALL(HYPRE_BoomerAMGSetRelaxType, solver_, 16);
    HYPRE_CALL(HYPRE_BoomerAMGSetPMaxElmts, solver_, 4);
    HYPRE_CALL(HYPRE_BoomerAMGSetMaxIter, solver_, 1);
    HYPRE_CALL(HYPRE_BoomerAMGSetTol, solver_, 0.0);
    HYPRE_CALL(HYPRE_BoomerAMGSetPrintLevel, solver_, 0);
    HYPRE_CALL(HYPRE_BoomerAMGSetup, solver_, matrix_.parallel(), b_.parallel(), x_.parallel());
  }

  Level<float>& level_;
  const Observation& observation_;
  MPI_Comm communicator_;
  CoarseMatrix entries_;
  Matrix matrix_;
  Vector b_;
  Vector x_;
  HYPRE_Solver solver_ = nullptr;  ///< none where no rank has an unknown
  std::vector<HYPRE_BigInt> rows_;
  std::vector<double> values_;
  device::Buffer on_host_;
};

}  // namespace

std::string boomeramg_missing() { return {}; }

std::unique_ptr<CoarseSolver> make_boomeramg(Level<float>& level, const Context& context,
                                             const Observation& observation) {
  return std::make_unique<BoomerAmg>(level, context, observation);
}

}  // namespace commlens::solvers
