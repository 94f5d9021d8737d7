// Whether an MPI lives in this process, and how far its life has come. Found at run time: LCI is
// linked with none.
#pragma once

#include <memory>
#include <string>

#include "lib/bootstrap/mpi_world.hpp"

namespace lci::network {

enum class mpi_life {
  absent,       ///< not in this process, or linked into the program in a way that hides it
  loaded,       ///< there, but MPI_Init has not been called
  initialized,  ///< between MPI_Init and MPI_Finalize
  finalized
};

mpi_life find_mpi();

/// An MPI has, or had, a session of its own with this process's launcher.
bool mpi_shares_launcher();

/// There is a part of LCI for the MPI in this process.
bool has_mpi_plugin();

/// COMM_WORLD of the MPI in this process. Where MPI_Init has not been called, `initialize` says
/// whether to do that. Null with the reason in `why` if there is no MPI or no part of LCI for it.
std::unique_ptr<mpi_world> open_mpi_world(bool initialize, std::string& why);

}  // namespace lci::network
