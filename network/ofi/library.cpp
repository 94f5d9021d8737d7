#include "network/ofi/library.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "lci/config.hpp"
#include "lib/base/loaded_library.hpp"

namespace lci::network::ofi {

namespace {

/// Bytes of the longest message that devices send, unless the program sets another packet size: longer data goes by
/// remote access.
size_t longest_usual_message() {
  constexpr size_t usual = LCI_PACKET_SIZE_DEFAULT;
  const char* asked = std::getenv("LCI_ATTR_PACKET_SIZE");
  return std::max(usual, asked == nullptr ? 0 : static_cast<size_t>(std::strtoull(asked, nullptr, 10)));
}

/// Values for libfabric's variables, used unless the user has set them.
std::vector<std::string> defaults() {
  std::vector<std::string> all = {
      // Its psm providers would otherwise catch the program's fatal signals to print the stack.
      "IPATH_NO_BACKTRACE=1", "HFI_NO_BACKTRACE=1",
      // By default ofi_rxm uses a shared receive context over tcp, but not over verbs. Without one, if a message
      // arrives while an endpoint is being closed, it posts a receive to the connection that it has just freed.
      "FI_OFI_RXM_USE_SRX=1",
      // Otherwise ofi_rxm posts 4096 receives of 16 KiB for each endpoint: 64 MiB, which it writes to.
      "FI_OFI_RXM_MSG_RX_SIZE=256",
      // ofi_rxm allocates its receive buffers 1024 at a time, by default of 16 KiB each, and writes to them: most of
      // the memory of an unused device. Longer messages go by its rendezvous.
      "FI_OFI_RXM_BUFFER_SIZE=" + std::to_string(longest_usual_message())};
  // By default ofi_rxm sizes completion queues for 1024 peers: more than a small device has memory for. If the launcher
  // does not set PMI_SIZE, that default remains.
  constexpr int fewest = 16;
  if (const char* ranks = std::getenv("PMI_SIZE"))
    all.push_back("FI_UNIVERSE_SIZE=" + std::to_string(std::max(std::atoi(ranks), fewest)));
  return all;
}

library load() {
  library l;
  const auto settings = library::settings();
  loaded_library loaded({"libfabric.so.1"});
  loaded.find("fi_getinfo", l.getinfo);
  loaded.find("fi_freeinfo", l.freeinfo);
  loaded.find("fi_dupinfo", l.dupinfo);
  loaded.find("fi_fabric", l.fabric);
  loaded.find("fi_strerror", l.strerror);
  if (!loaded.missing().empty()) l.missing = loaded.missing() + "; install libfabric (Debian: libfabric1)";
  return l;
}

}  // namespace

extended_environment::window library::settings() {
  static extended_environment& environment = *new extended_environment(defaults());  // used while threads end, too
  return extended_environment::window(environment);
}

const library& library::get() {
  static const library loaded = load();
  return loaded;
}

}  // namespace lci::network::ofi
