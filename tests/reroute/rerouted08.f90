! The same with `use mpi_f08`: ierror can be absent, and the functions have other symbols.
program rerouted08
  use iso_c_binding
  use mpi_f08
  implicit none
  include 'fake_gpu.inc'
  integer, parameter :: count = 1000
  integer :: error, rank, ranks, call
  double precision, pointer :: values(:), sums(:)
  type(c_ptr) :: memory
  type(MPI_Request) :: requests(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call fake_gpu_use(rank)
  error = cuMemAlloc(memory, int(8 * count, c_size_t))
  call c_f_pointer(memory, values, [count])
  error = cuMemAlloc(memory, int(8 * count * ranks, c_size_t))
  call c_f_pointer(memory, sums, [count * ranks])
  do call = 1, 3
    values = 1
    call MPI_Allreduce(values, sums, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (any(sums(1:count) /= ranks)) call MPI_Abort(MPI_COMM_WORLD, 3)
    call MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    if (any(values /= ranks)) call MPI_Abort(MPI_COMM_WORLD, 4)
    values = rank
    call MPI_Bcast(values, count, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)
    if (error /= MPI_SUCCESS .or. any(values /= ranks - 1)) call MPI_Abort(MPI_COMM_WORLD, 5)
    requests(2) = MPI_REQUEST_NULL
    call MPI_Iallreduce(values, sums, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    if (any(sums(1:count) /= ranks * (ranks - 1))) call MPI_Abort(MPI_COMM_WORLD, 6)
  end do
  call MPI_Finalize()
  print '(a)', 'good'
end program rerouted08
