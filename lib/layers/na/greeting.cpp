#include "lib/layers/na/greeting.hpp"

#include <cstring>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {
namespace {

lci::comp_attr_t in_place() {
  lci::comp_attr_t a;
  a.am_in_place = true;
  return a;
}

}  // namespace

greetings::greetings(na_class& c) : lci::comp_impl_t(in_place()), class_(c) {}

void greetings::signal(lci::status_t status) {
  greeting g;
  if (!status.is_done() || status.rank <= 0) return;
  if (status.size == sizeof g) std::memcpy(&g, status.buffer, sizeof g);
  if (status.size != sizeof g || g.magic != greeting::version || std::memchr(g.name, 0, sizeof g.name) == nullptr) {
    refuse(NA_PROTOCOL_ERROR, "NA_Progress",
           "a peer has connected whose first message is not of this version of NA; "
           "its connection is ended");
    lci::disconnect_x(status.rank).runtime(class_.runtime).device(class_.device)();
    return;
  }
  class_.book->assign(static_cast<uint32_t>(status.rank), g.who, g.name);
}

}  // namespace na
