// The files that a preloaded library leaves in the folder of its command, which python/commlens/jobs/preload/ranks.py
// reads. No allocation and no stdio but snprintf: a signal handler can write them.
#pragma once

#include "json_writer.hpp"

namespace commlens::preload {

/// The file of a rank, each one JSON object. It appears under its name when it is complete.
class RankFile {
 public:
  void open(const char* folder, int rank);
  /// Creates it under its temporary name: MPI has been started.
  void announce() const;
  /// If it can be written. `content` is called with the writer.
  template <class Content>
  void write(Content content) const {
    const int descriptor = create();
    if (descriptor < 0) return;
    JsonWriter writer(descriptor);
    content(writer);
    close(descriptor, writer.finish());
  }

 private:
  [[nodiscard]] int create() const;
  void close(int descriptor, bool is_written) const;
  void leave_error(int error) const;

  char file_[1400] = {};
  char temporary_file_[1408] = {};
};

/// What tells the rank's job from others that the command starts: host, process, its parent, program and job, which is
/// empty where the launcher sets nothing of the kind.
void write_process(JsonWriter& writer);

/// A file that names a program which used MPI, but by no function that the library defines, if that is so: it calls
/// PMPI functions, or takes the addresses of MPI functions from the library that it has opened itself.
void write_if_unseen(const char* folder);
/// A file that names the MPI of the program, for which the library was not built. Each rank does: a launcher may kill
/// the others, before they print anything, as soon as the first has ended.
void write_refusal(const char* folder, const char* running_mpi);

}  // namespace commlens::preload
