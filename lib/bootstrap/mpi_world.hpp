// Between LCI and MPI: MPIs differ in what their handles are, so what calls MPI is compiled once for
// each, into a plug-in (mpi_plugin.cpp) of which the process loads the one that fits.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lci::network {

/// MPI_COMM_WORLD, in a copy for us alone. Calls MPI in the caller's thread.
class mpi_world {
 public:
  virtual ~mpi_world() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  ///< among the ranks of this host
  virtual int local_size() const = 0;

  /// Collective: everybody's bytes, by rank. Waits `timeout` seconds (0: for ever). What went wrong,
  /// if anything; then the object is of no more use.
  virtual std::string allgather(const std::string& mine, double timeout,
                                std::vector<std::string>& all) = 0;

  /// Why MPI can't be called (any more, or by this thread); else empty.
  virtual std::string unusable_reason() const = 0;

  virtual void abort(int code) = 0;
};

/// What a plug-in exports. The name changes whenever this header does.
constexpr const char* mpi_plugin_entry = "lci_mpi_plugin_1";
using mpi_plugin_function = std::unique_ptr<mpi_world> (*)(bool initialize, std::string& why);

}  // namespace lci::network
