// What UCX logs of the transports that it has selected.
#pragma once

#include <string>

namespace commlens::transport {

/// While it exists, UCX logs at the level `info`, where a user has not asked for a level: it writes a message as it
/// makes a kind of endpoint, with the first message to a kind of peer. Messages that UCX would not write by default are
/// kept from the output (ucs_log_dispatch in ucx_log.cpp).
class UcxLog {
 public:
  /// Before MPI is initialised, as that may make endpoints.
  UcxLog();
  UcxLog(UcxLog&&) = delete;
  ~UcxLog();

  /// Once MPI is initialised, so that nobody takes the setting for the user's.
  void initialised() const;
  /// What UCX has selected so far on this rank: "intra-node tag(sysv/memory cma/memory)". Empty: it has not told.
  [[nodiscard]] static std::string lanes();

 private:
  bool is_ours_;  ///< the level
};

/// The kind of endpoint and its transports, if a message of UCX is about that and the endpoint is to another rank; else
/// empty.
std::string lanes_in(const std::string& message);

}  // namespace commlens::transport
