// What the communication libraries selected, as they tell it at run time: components, algorithms, transports. What a
// library does not tell is absent. knowledge/libraries/selection.yaml says what each name means, and what each library
// does not tell.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "transport/call_stack.hpp"

namespace commlens::transport {

using Selection = std::map<std::string, std::string>;  ///< {"pml", "ob1"}, {"algorithm", "ring"}

/// What MPI and the libraries below it have selected so far on this rank, for an operation that calls this collective;
/// empty: none.
Selection selected(const std::string& collective);

/// Of Open MPI the pml, with its mtl or btls, by the names of the categories of variables that are left in MPI's tool
/// interface: "ompi_pml_ob1", "opal_btl_tcp". It closes the components that it has not selected.
Selection components_among(const std::vector<std::string>& categories);
/// Of MPICH, whose version names the network modules that it was built with. One of several that is at work has opened
/// endpoints of UCX or a fabric, which `below` has.
std::string netmod_in(const std::string& version, const Selection& below);

/// Whether an MPI function is a blocking collective: those have algorithms.
bool is_collective(const std::string& function);
/// The collective that a thread is in, with Open MPI's coll component and algorithm, by the names of its functions.
Selection collective_on(const std::vector<Frame>& stack);

}  // namespace commlens::transport
