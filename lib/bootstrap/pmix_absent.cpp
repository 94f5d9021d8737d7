// Replaces pmix.cpp in a build without PMIx headers: creating this bootstrap fails with an explanation.
#include "lci/errors.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/pmix_environment.hpp"

namespace lci::network {

namespace {

std::unique_ptr<bootstrap> create_pmix() {
  throw bootstrap_error(
      "this LCI was built without PMIx, by which the launcher wants to tell the rank (PMIX_RANK); "
      "install its headers (Debian: libpmix-dev) and build again, or start the program with "
      "`lcirun -n N`, MPICH's `mpiexec` or `srun --mpi=pmi2`");
}

}  // namespace

const bootstrap_kind pmix_kind = {"pmix", pmix_detected, create_pmix};

}  // namespace lci::network
