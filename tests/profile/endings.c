// A program that ends as its first argument says.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { calls_per_thread = 1000, threads = 4 };

static void* count_ranks(void* unused) {
  int ranks = 0;
  for (int call = 0; call < calls_per_thread; ++call) MPI_Comm_size(MPI_COMM_SELF, &ranks);
  return unused;
}

static void use_threads(void) {
  pthread_t ids[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, count_ranks, NULL);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
}

static void make_child(void) {
  const pid_t child = fork();
  if (child == 0) exit(0);  // runs the destructors of libraries in the copy of the rank
  waitpid(child, NULL, 0);
  if (system("true") != 0) exit(5);
}

static void handle_abort(int number) {
  (void)number;
  if (write(STDOUT_FILENO, "own handler\n", 12) != 12) _exit(98);
  _exit(97);
}

/// The disk of the working directory.
static void fill_disk(void) {
  static const char block[4096] = {0};
  FILE* file = fopen("filling", "a");
  if (file == NULL) return;
  while (fwrite(block, sizeof block, 1, file) == 1 && fflush(file) == 0) {
  }
  fclose(file);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void end_without_finalize(const char* how) {
  if (strcmp(how, "no-finalize") == 0) exit(0);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "mpi-abort") == 0) MPI_Abort(MPI_COMM_WORLD, 9);
  if (strcmp(how, "terminate") == 0) raise(SIGTERM);
  if (strcmp(how, "handler") == 0) raise(SIGABRT);
  if (strcmp(how, "at-once") == 0) _exit(6);
  if (strcmp(how, "error") == 0) MPI_Send(how, 1, MPI_CHAR, 1000, 0, MPI_COMM_WORLD);
  if (strcmp(how, "fill") == 0) fill_disk();
  if (strcmp(how, "stuck") == 0) {
    int never = 0;
    printf("stuck\n");
    fflush(stdout);
    MPI_Recv(&never, 1, MPI_INT, 0, 99, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "no-init") == 0) return 4;
  if (strcmp(how, "handler") == 0) signal(SIGABRT, handle_abort);
  int level = MPI_THREAD_SINGLE;
  if (strcmp(how, "threads") == 0) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    use_threads();
  } else {
    MPI_Init(&argc, &argv);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "fork") == 0) make_child();
  if (strcmp(how, "echo") == 0) {
    char line[100];
    if (fgets(line, sizeof line, stdin) != NULL) printf("read %s", line);
  }
  end_without_finalize(how);
  MPI_Finalize();
  return 0;
}
