// The provider that libfabric has been asked to open.
#pragma once

#include <string>

namespace commlens::transport {

/// Of the fabrics that have been opened so far in this process, whoever did: "tcp;ofi_rxm". Empty without one.
std::string opened_providers();

}  // namespace commlens::transport
