// Says whether this process has loaded an MPI, and in which state it is. Found at run time: LCI is not linked to MPI.
#pragma once

#include <memory>
#include <string>

#include "lib/bootstrap/mpi_world.hpp"

namespace lci::network {

enum class mpi_life {
  absent,       ///< not loaded, or linked in a way that dlopen() can't find
  loaded,       ///< loaded, but MPI_Init has not been called
  initialized,  ///< between MPI_Init and MPI_Finalize
  finalized
};

mpi_life find_mpi();

/// Returns whether an MPI has, or had, its own session with this process's launcher.
bool mpi_shares_launcher();

/// Returns whether LCI has a plug-in for the MPI in this process.
bool has_mpi_plugin();

/// MPI_COMM_WORLD of the MPI in this process. `initialize`: call MPI_Init if the program has not. Returns null, with
/// the reason in `why`, if there is no MPI or no plug-in for it.
std::unique_ptr<mpi_world> open_mpi_world(bool initialize, std::string& why);

}  // namespace lci::network
