// Stands in for ccl.cpp in a build without NCCL or RCCL, so that asking for the transport says what is missing.
#include <memory>
#include <string>

#include "base/error.hpp"
#include "transport/transport.hpp"

namespace commlens::transport {

namespace {

const Registration ccl_registration(3, {.name = "ccl",
                                        .description = "NCCL or RCCL (not in this build)",
                                        .built = false,
                                        .unsupported = [](const Setup&) -> std::string {
                                          return "this build has no NCCL or RCCL; install one and configure again "
                                                 "with the preset cuda or hip";
                                        },
                                        .make = [](const Setup&) -> std::unique_ptr<Transport> {
                                          throw Error("this build has no ccl transport");
                                        }});

}  // namespace

}  // namespace commlens::transport
