// The table of backends, best first.
#include "network/fabric.hpp"
#include "network/shm/fabric.hpp"
#include "network/sim/fabric.hpp"

namespace lci::network {

const std::vector<fabric>& fabrics() {
  static const std::vector<fabric> table = {shm_fabric(), sim_fabric()};
  return table;
}

}  // namespace lci::network
