#include "rank_file.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "mpi_symbols.hpp"

namespace commlens::preload {
namespace {

int create_file(const char* file) { return open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); }

struct Text {
  char text[1024] = {};
};

Text host() {
  Text name;
  gethostname(name.text, 255);
  return name;
}

Text program() {
  Text file;
  if (readlink("/proc/self/exe", file.text, sizeof file.text - 1) < 0) file.text[0] = '\0';
  return file;
}

const char* job() {
  for (const char* name : {"PMIX_NAMESPACE", "PALS_APID", "ALPS_APP_ID", "FLUX_JOB_ID", "SLURM_STEPID"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  return "";
}

/// A file of this process with one text.
void write_text_file(const char* folder, const char* kind, const char* text) {
  char file[1400];
  std::snprintf(file, sizeof file, "%s/%s-%d.json", folder, kind, static_cast<int>(getpid()));
  const int descriptor = create_file(file);
  if (descriptor < 0) return;
  JsonWriter writer(descriptor);
  writer.text(text);
  writer.finish();
  close(descriptor);
}

}  // namespace

void RankFile::open(const char* folder, int rank) {
  std::snprintf(file_, sizeof file_, "%s/rank-%d-%.200s-%d.json", folder, rank, host().text,
                static_cast<int>(getpid()));
  std::snprintf(temporary_file_, sizeof temporary_file_, "%s.part", file_);
}

int RankFile::create() const {
  errno = 0;
  return create_file(temporary_file_);
}

void RankFile::announce() const {
  const int descriptor = create();
  if (descriptor >= 0) ::close(descriptor);
}

void RankFile::close(int descriptor, bool is_written) const {
  const int error = errno;
  const bool is_closed = ::close(descriptor) == 0;
  if (!is_written || !is_closed || rename(temporary_file_, file_) != 0) leave_error(is_written ? errno : error);
}

/// Leaves an empty file whose name tells why the counters could not be written.
void RankFile::leave_error(int error) const {
  char file[sizeof file_ + 16];
  std::snprintf(file, sizeof file, "%s.error-%d", file_, error);
  if (truncate(temporary_file_, 0) != 0 || rename(temporary_file_, file) != 0) unlink(temporary_file_);
}

void write_process(JsonWriter& writer) {
  writer.field("host", host().text);
  writer.field("pid", static_cast<std::uint64_t>(getpid()));
  writer.field("parent", static_cast<std::uint64_t>(getppid()));
  writer.field("program", program().text);
  writer.field("job", job());
}

void write_if_unseen(const char* folder) {
  int (*was_initialized)(int*) = nullptr;
  int initialized = 0;
  find_into(was_initialized, "PMPI_Initialized");
  const bool is_known = was_initialized != nullptr && was_initialized(&initialized) == MPI_SUCCESS;
  if (is_known && initialized != 0) write_text_file(folder, "unseen", program().text);
}

void write_refusal(const char* folder, const char* running_mpi) { write_text_file(folder, "refused", running_mpi); }

}  // namespace commlens::preload
