#include "lib/core/device/argument_checks.hpp"

namespace lci::core {

void reject_size(const char* what, size_t size, const char* argument) {
  throw_invalid(what, argument, std::to_string(size), "at most 2^63 - 1 bytes");
}

void reject_policy(const char* what, matching_policy_t policy) {
  throw_invalid(what, "matching_policy", std::to_string(static_cast<int>(policy)),
                "none, rank_only, tag_only or rank_tag");
}

void reject_receive(const device& d, const post_recv_args& a, matching_policy_t policy) {
  if (!is_policy(a.matching_policy)) reject_policy("post_recv", a.matching_policy);
  if (!is_possible(a.size)) reject_size("post_recv", a.size);
  const auto bits = static_cast<unsigned>(policy);
  if ((bits & 1) != 0 && static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid("post_recv", "rank", std::to_string(a.rank),
                  "0.." + std::to_string(d.n_peers - 1) + ", or ANY_SOURCE");
  if ((bits & 2) != 0 && a.tag > max_tag)
    throw_invalid("post_recv", "tag", std::to_string(a.tag), "0.." + std::to_string(max_tag) + ", or ANY_TAG",
                  "see the runtime's attribute max_tag");
  throw_invalid("post_recv", "local_buffer", "nullptr", "an address",
                "only messages of 0 bytes may have none (size = " + std::to_string(a.size) + ")");
}

void reject_remote(const char* what, const device& d, const rmr_t& rmr, uint64_t disp, size_t size,
                   const char* disp_name) {
  if (rmr.is_empty())
    throw_invalid(what, "rmr", "empty", "a registered range of the target",
                  "the target gets one from register_memory() and get_rmr()");
  if (!rmr.is_of(d.attr.uid))
    throw_invalid(what, "rmr", "of the device with uid " + std::to_string(rmr.device()),
                  "of the device that is used, whose uid is " + std::to_string(d.attr.uid),
                  "the target registers the memory with each device through which it is reached");
  throw_invalid(what, disp_name, std::to_string(disp),
                "at most " + std::to_string(rmr.size()) + " - size, where size = " + std::to_string(size) +
                    " and the target registered " + std::to_string(rmr.size()) + " bytes");
}

void throw_no_pool(size_t size) {
  throw_invalid("post", "packet_pool", "empty", "given for a message of " + std::to_string(size) + " bytes",
                "the device was allocated without a packet pool: pass .packet_pool(), to the post or to alloc_device");
}

void reject_registration(const device& d, const memory_region& region) {
  if (!has_device(region))
    throw_invalid("post", "mr", "of a device that was freed", "of the device that is used",
                  "register the buffer with that device, or leave mr out");
  throw_invalid("post", "mr", "of the device with uid " + std::to_string(region.device.p_impl->attr.uid),
                "of the device that is used, whose uid is " + std::to_string(d.attr.uid),
                "register the buffer with that device too, or leave mr out");
}

void throw_peer_failure(const device& d, int rank) {
  const char* what = d.failures.is_closing(rank) ? " has freed its device: nothing can be sent to it" : " has failed";
  throw peer_failure_error(rank, "rank " + std::to_string(rank) + what);
}

void throw_refused(int rank) {
  throw peer_failure_error(rank, "rank " + std::to_string(rank) +
                                     " could not do its part: the remote completion handle, matching "
                                     "engine or memory that was named is not registered there");
}

void throw_too_many_operations() {
  throw resource_error("more than 2^24 operations are under way; complete some before posting more");
}

void reject_timeout(const char* operation) {
  throw_invalid(operation, "timeout", "nan", "a number of seconds", "a negative one means for ever");
}

}  // namespace lci::core
