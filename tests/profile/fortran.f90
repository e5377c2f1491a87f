! `use mpi`: handles, MPI_IN_PLACE, strings with hidden lengths.
program fortran
  use mpi
  implicit none
  integer :: rank, ranks, error, request, own, length, file, status(MPI_STATUS_SIZE), number(100)
  double precision :: values(8), other(8), start
  character(len=MPI_MAX_OBJECT_NAME) :: name
  number = 1
  values = 1
  call MPI_Init(error)
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Isend(number, 25, MPI_INTEGER, mod(rank + 1, ranks), 0, MPI_COMM_WORLD, request, error)
  call MPI_Recv(number(51), 25, MPI_INTEGER, mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, &
    status, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Allreduce(values, other, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, other, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, other, 2, MPI_DOUBLE_PRECISION, &
    MPI_COMM_WORLD, error)
  call MPI_Send_init(number, 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request, error)
  call MPI_Start(request, error)
  call MPI_Recv(number(51), 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, status, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  call MPI_Request_free(request, error)
  call MPI_Comm_dup(MPI_COMM_WORLD, own, error)
  call MPI_Comm_set_name(own, "a name with spaces", error)
  call MPI_Comm_get_name(own, name, length, error)
  if (name(1:length) /= "a name with spaces") call MPI_Abort(MPI_COMM_WORLD, 3, error)
  call MPI_File_open(own, "fortran.data", MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, &
    file, error)
  call MPI_File_write_at(file, int(400 * rank, MPI_OFFSET_KIND), number, 100, MPI_INTEGER, &
    MPI_STATUS_IGNORE, error)
  call MPI_File_close(file, error)
  call MPI_Comm_free(own, error)
  call MPI_Finalize(error)
  print '(a, f4.1)', 'sum ', other(1) / (ranks * ranks)
end program fortran
