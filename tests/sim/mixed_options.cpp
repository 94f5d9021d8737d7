#include <sstream>

#include "tests/sim/mixed_job.hpp"

namespace sim_test {

mixed_options mixed_options::from_seed(uint64_t seed) {
  random_source random(seed * 7919);
  const auto one_of = [&](std::initializer_list<size_t> values) {
    return *(values.begin() + random.up_to(values.size() - 1));
  };
  mixed_options o;
  o.seed = seed;
  o.ranks = static_cast<int>(one_of({1, 2, 2, 3, 4, 4, 7, 16}));
  o.devices = static_cast<int>(one_of({1, 1, 2}));
  o.max_delay = one_of({0, 1, 8, 8, 40});
  o.retry_percent = one_of({0, 10, 10, 50, 80});
  o.max_poll = one_of({0, 1, 4, 4});
  o.max_inject = one_of({0, 16, 40, 64, 64, 200});
  o.preposted = random.percent(40);
  o.rma = !random.percent(25);
  o.packet_size = one_of({256, 512, 1024, 8192});
  o.max_sends = one_of({1, 2, 8, 64});
  o.max_recvs = one_of({1, 4, 32});
  // Enough for the receive buffers, and sometimes only slightly more.
  o.npackets = static_cast<size_t>(o.devices) * o.max_recvs + one_of({4, 64, 1024});
  o.rdv_threshold = one_of({0, 0, 100});
  o.rdv_chunk = one_of({4096, 5000, 8 << 20});
  o.max_msg_size = one_of({4096, 1 << 30});
  using protocol = lci::attr_rdv_protocol_t;
  const protocol protocols[] = {protocol::auto_select, protocol::write, protocol::writeimm,
                                protocol::read,        protocol::copy,  protocol::split};
  o.protocol = protocols[random.up_to(5)];
  o.matching = random.percent(50) ? lci::attr_matching_engine_type_t::map : lci::attr_matching_engine_type_t::queue;
  o.operations = static_cast<int>(one_of({30, 100, 300}));
  return o;
}

std::string mixed_options::text() const {
  std::ostringstream s;
  s << "seed " << seed << ": " << ranks << " ranks, " << devices << " devices, delay " << max_delay << ", retry "
    << retry_percent << " %, poll " << max_poll << ", inject " << max_inject << (preposted ? ", preposted" : "")
    << (rma ? "" : ", no rma") << ", packets " << npackets << " x " << packet_size << ", sends " << max_sends
    << ", recvs " << max_recvs << ", rdv threshold " << rdv_threshold << " chunk " << rdv_chunk << " protocol "
    << static_cast<int>(protocol) << ", max message " << max_msg_size << ", "
    << (matching == lci::attr_matching_engine_type_t::map ? "map" : "queue") << ", " << operations << " operations";
  if (victim >= 0) s << ", rank " << victim << " dies in round " << killed_after;
  return s.str();
}

std::vector<std::byte> payload_of(uint64_t id, size_t size) {
  std::vector<std::byte> v(size);
  random_source random(id);
  for (auto& b : v) b = static_cast<std::byte>(random.next());
  return v;
}

}  // namespace sim_test
