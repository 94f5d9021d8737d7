#include "network/tcp/outside/link.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace lci::network::outside {

bool link::has_unsent() const {
  if (port_ != nullptr) return !port_->is_read(*stream_);
  int unsent = 0;
  return ioctl(socket_.get(), SIOCOUTQ, &unsent) == 0 && unsent > 0;
}

}  // namespace lci::network::outside
