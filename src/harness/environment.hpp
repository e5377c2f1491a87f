// What a start says of the software around it: versions, the environment that communication depends on, the time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace commlens {

/// Variables whose names begin with a prefix of a communication library or a launcher's binding (UCX_, OMPI_MCA_, NCCL_
/// ...), and no others: an environment can hold secrets.
std::map<std::string, std::string> communication_environment();
/// The names in it that change how bytes travel; the others describe the job.
std::vector<std::string> transport_settings(const std::map<std::string, std::string>& environment);

/// Of commlens, the MPI library and standard, UCX, the compiler, and where a GPU is used its driver, runtime and ccl
/// library.
std::map<std::string, std::string> versions(bool uses_gpu);

std::string utc_now();           ///< "2026-11-21T20:00:00Z"
std::string start_identifier();  ///< unique to this start of the program: time, host, process

}  // namespace commlens
