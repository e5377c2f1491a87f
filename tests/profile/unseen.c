// MPI in ways that no wrapper sees: by PMPI functions, or with a library that the program opens.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef PMPI
#include <mpi.h>

int main(int argc, char** argv) {
  PMPI_Init(&argc, &argv);
  PMPI_Barrier(MPI_COMM_WORLD);
  PMPI_Finalize();
  return 0;
}
#else
typedef int (*Main)(int argc, char** argv);
typedef int (*Init)(int* argc, char*** argv);
typedef int (*Finalize)(void);

/// Opens the library of the first argument. Calls its function `counts` if it has one, else MPI.
/// Asks before, as mpi4py does, whether MPI is loaded.
int main(int argc, char** argv) {
  if (argc < 2 || dlsym(dlopen(NULL, RTLD_LAZY), "MPI_Get_version") != NULL) return 3;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 4;
  }
  const Main counts = (Main)dlsym(library, "counts");
  if (counts != NULL) return counts(1, argv);
  ((Init)dlsym(library, "MPI_Init"))(NULL, NULL);
  ((Finalize)dlsym(library, "MPI_Finalize"))();
  return 0;
}
#endif
