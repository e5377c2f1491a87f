#include "fft/process_grid.hpp"

#include <array>

#include "transport/activity.hpp"

namespace commlens::fft {

namespace {

const Call cart_rank_call{"MPI_Cart_rank"};
const Call cart_get_call{"MPI_Cart_get"};
const Call comm_size_call{"MPI_Comm_size"};
const Call cart_sub_call{"MPI_Cart_sub"};

constexpr int axes = 2;

int rank_at(MPI_Comm grid, const std::array<int, axes>& coordinates) {
  const InCall call(cart_rank_call);
  int rank = 0;
  CALL_MPI(MPI_Cart_rank, grid, coordinates.data(), &rank);
  return rank;
}

}  // namespace

ProcessGrid::ProcessGrid(const transport::Communicator& parent, int p, int q)
    : communicator_(parent.cartesian({.extents = {p, q}})) {}

Line ProcessGrid::line(int axis) const {
  MPI_Comm grid = communicator_.handle();
  std::array<int, axes> extents{};
  std::array<int, axes> periodic{};
  std::array<int, axes> coordinates{};
  {
    const InCall call(cart_get_call);
    CALL_MPI(MPI_Cart_get, grid, axes, extents.data(), periodic.data(), coordinates.data());
  }
  {
    const InCall call(comm_size_call);
    int ranks = 0;
    CALL_MPI(MPI_Comm_size, grid, &ranks);
  }
  (void)rank_at(grid, coordinates);

  std::array<int, axes> remain{};
  remain.at(static_cast<std::size_t>(axis)) = 1;
  MPI_Comm handle = MPI_COMM_NULL;
  {
    const InCall call(cart_sub_call);
    CALL_MPI(MPI_Cart_sub, grid, remain.data(), &handle);
  }
  const auto along = static_cast<std::size_t>(axis);
  const int position_of_this = coordinates.at(along);
  Line line{.communicator = transport::Communicator::owning(handle, position_of_this, extents.at(along)),
            .members = {},
            .position = position_of_this};
  std::array<int, axes> other = coordinates;
  for (int position = 0; position < extents.at(along); ++position) {
    other.at(along) = position;
    line.members.push_back(rank_at(grid, other));
  }
  return line;
}

}  // namespace commlens::fft
