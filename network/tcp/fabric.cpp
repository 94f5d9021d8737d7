#include "network/tcp/fabric.hpp"

#include <cerrno>
#include <utility>

#include "network/tcp/context.hpp"
#include "network/tcp/outside/context.hpp"

namespace lci::network {

fabric tcp_fabric() {
  return {
      attr_backend_t::tcp, "tcp",
      [](const net_context_attr_t&) { return usability{length_of(first_address()) > 0 ? "" : no_address_text(errno)}; },
      [](address_exchange& exchange, const net_context_attr_t& attr) -> std::unique_ptr<context> {
        return std::make_unique<sockets::context>(exchange, attr);
      }};
}

std::unique_ptr<outside_context> tcp_outside(const net_context_attr_t& attr, int rank, datagram_opener opener) {
  return std::make_unique<outside::context>(attr, rank, std::move(opener));
}

}  // namespace lci::network
