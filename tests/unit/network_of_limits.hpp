// A network that has limits and nothing else, for tests of what asks for them.
#pragma once

#include <cstddef>

#include "network/fabric.hpp"

namespace lci_test {

/// A device that can inject messages of up to `largest` bytes to any peer, and refuses all posts.
class network_of_limits final : public lci::network::device {
 public:
  explicit network_of_limits(size_t bytes) : largest(bytes) {}

  size_t max_inject_to(int) const override { return largest; }
  lci::errorcode_t post(const lci::network::net_op&) override { return lci::errorcode_t::fatal; }
  lci::network::registration register_memory(void*, size_t) override { return {}; }
  void deregister_memory(const lci::network::registration&) override {}
  int poll(lci::network::event_sink&, int) override { return 0; }
  void wait(int64_t) override {}

  size_t largest;
};

}  // namespace lci_test
