#include "network/fabric.hpp"

#include "lci/errors.hpp"

namespace lci::network {

errorcode_t device::inject(int peer, message_head head, const void* payload, size_t size) {
  net_op op;
  op.inject = true;
  op.peer = peer;
  op.n_segments = 2;
  op.segments[0] = {&head, sizeof head, 0};
  op.segments[1] = {const_cast<void*>(payload), size, 0};
  return post(op);
}

int context::connect(const std::string& address) {
  throw invalid_argument_error("connect: address = \"" + address + "\": this network has no peers outside of the job");
}

}  // namespace lci::network
