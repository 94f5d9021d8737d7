#include "lib/core/net_context.hpp"

#include "lib/base/check.hpp"

namespace lci::core {

const network::fabric& choose_fabric(const net_context_attr_t& attr) {
  std::string tried;
  for (const network::fabric& f : network::fabrics()) {
    const bool automatic = attr.backend == attr_backend_t::none;
    // sim is for tests: never chosen unless asked for.
    if (automatic ? f.id == attr_backend_t::sim : f.id != attr.backend) continue;
    const std::string reason = f.unusable_reason();
    if (reason.empty()) return f;
    tried += std::string(tried.empty() ? "" : "; ") + f.name + ": " + reason;
  }
  std::string built;
  for (const network::fabric& f : network::fabrics())
    built += std::string(built.empty() ? "" : ", ") + f.name;
  throw_invalid("alloc_net_context", "backend",
                to_string(attr.backend), "a usable one of those built in: " + built, tried);
}

}  // namespace lci::core
