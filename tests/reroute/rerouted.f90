! Collectives on device memory by the module mpi, whose functions are those of mpif.h.
program rerouted
  use iso_c_binding
  use mpi
  implicit none
  include 'fake_gpu.inc'
  integer, parameter :: count = 1000
  integer :: error, rank, ranks, call, request, status(MPI_STATUS_SIZE)
  double precision, pointer :: values(:), sums(:)
  type(c_ptr) :: memory
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call fake_gpu_use(rank)
  error = cuMemAlloc(memory, int(8 * count, c_size_t))
  call c_f_pointer(memory, values, [count])
  error = cuMemAlloc(memory, int(8 * count * ranks, c_size_t))
  call c_f_pointer(memory, sums, [count * ranks])
  do call = 1, 3
    values = 1
    call MPI_Allreduce(values, sums, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (error /= MPI_SUCCESS .or. any(sums(1:count) /= ranks)) call MPI_Abort(MPI_COMM_WORLD, 3, error)
    call MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (any(values /= ranks)) call MPI_Abort(MPI_COMM_WORLD, 4, error)
    values = rank
    call MPI_Allgather(values, count, MPI_DOUBLE_PRECISION, sums, count, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    if (sums(count * ranks) /= ranks - 1) call MPI_Abort(MPI_COMM_WORLD, 5, error)
    call MPI_Iallreduce(values, sums, count, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, request, error)
    call MPI_Wait(request, status, error)
    if (any(sums(1:count) /= ranks - 1)) call MPI_Abort(MPI_COMM_WORLD, 6, error)
    call MPI_Allreduce(values, sums, count, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
  print '(a)', 'good'
end program rerouted
