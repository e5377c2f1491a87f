// MPI 4: sessions instead of MPI_Init, and a large-count function.
#include <mpi.h>

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm communicator;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "commlens", MPI_INFO_NULL, MPI_ERRORS_RETURN, &communicator);
  double value = 1;
  double sum = 0;
  MPI_Allreduce_c(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, communicator);
  MPI_Comm_free(&communicator);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return 0;
}
