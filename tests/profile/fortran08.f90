! The same with `use mpi_f08`: ierror can be absent, and the functions have other symbols.
program fortran08
  use mpi_f08
  implicit none
  integer :: rank, ranks, length, number(100)
  double precision :: values(8), other(8), start
  type(MPI_Request) :: request
  type(MPI_Comm) :: own
  type(MPI_File) :: file
  character(len=MPI_MAX_OBJECT_NAME) :: name
  number = 1
  values = 1
  call MPI_Init()
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Isend(number, 25, MPI_INTEGER, mod(rank + 1, ranks), 0, MPI_COMM_WORLD, request)
  call MPI_Recv(number(51:), 25, MPI_INTEGER, mod(rank + ranks - 1, ranks), 0, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Allreduce(values, other, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, other, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, other, 2, MPI_DOUBLE_PRECISION, &
    MPI_COMM_WORLD)
  call MPI_Send_init(number, 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request)
  call MPI_Start(request)
  call MPI_Recv(number(51:), 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call MPI_Request_free(request)
  call MPI_Comm_dup(MPI_COMM_WORLD, own)
  call MPI_Comm_set_name(own, "a name with spaces")
  call MPI_Comm_get_name(own, name, length)
  if (name(1:length) /= "a name with spaces") call MPI_Abort(MPI_COMM_WORLD, 3)
  call MPI_File_open(own, "fortran.data", MPI_MODE_CREATE + MPI_MODE_WRONLY, MPI_INFO_NULL, file)
  call MPI_File_write_at(file, int(400 * rank, MPI_OFFSET_KIND), number, 100, MPI_INTEGER, &
    MPI_STATUS_IGNORE)
  call MPI_File_close(file)
  call MPI_Comm_free(own)
  call MPI_Finalize()
  print '(a, f4.1)', 'sum ', other(1) / (ranks * ranks)
end program fortran08
