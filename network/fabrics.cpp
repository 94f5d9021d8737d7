// The table of backends, best first.
#include "network/fabric.hpp"
#ifdef LCI_WITH_IBV
#include "network/ibv/fabric.hpp"
#endif
#ifdef LCI_WITH_OFI
#include "network/ofi/fabric.hpp"
#endif
#include "network/shm/fabric.hpp"
#include "network/sim/fabric.hpp"
#include "network/tcp/fabric.hpp"

namespace lci::network {

const std::vector<fabric>& fabrics() {
  static const std::vector<fabric> table = {
      shm_fabric(),
#ifdef LCI_WITH_IBV
      ibv_fabric(),
#endif
#ifdef LCI_WITH_OFI
      ofi_fabric(),
#endif
      tcp_fabric(), sim_fabric(),
  };
  return table;
}

}  // namespace lci::network
