// The interface between LCI and MPI. Handle types differ between MPIs, so the code that calls MPI is compiled once for
// each, into a plug-in (mpi_plugin.cpp); the process loads the one for its MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace lci::network {

/// A private duplicate of MPI_COMM_WORLD. Calls MPI in the caller's thread; not thread-safe.
class mpi_world {
 public:
  virtual ~mpi_world() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;  ///< among the ranks of this host
  virtual int local_size() const = 0;

  /// Collective: gathers the bytes of all ranks, by rank. Waits at most `timeout` seconds (0: for ever), and calls
  /// `meanwhile` again and again as it waits. Returns what went wrong, or an empty text; after an error the object must
  /// not be used again.
  virtual std::string allgather(const std::string& mine, double timeout, bool (*meanwhile)(),
                                std::vector<std::string>& all) = 0;

  /// Why MPI can't be called (after MPI_Finalize, or by this thread); empty if it can.
  virtual std::string unusable_reason() const = 0;

  virtual void abort(int code) = 0;
};

/// The function that a plug-in exports. Change the name whenever this header changes.
constexpr const char* mpi_plugin_entry = "lci_mpi_plugin_2";
using mpi_plugin_function = std::unique_ptr<mpi_world> (*)(bool initialize, std::string& why);

}  // namespace lci::network
