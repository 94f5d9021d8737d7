#include "network/ibv/address.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "lci/errors.hpp"

namespace lci::network::ibv {

namespace {

constexpr size_t pairs_at_once = 8192;  // a round carries at most 64 KiB from each rank

[[noreturn]] void misfit(size_t rank, const char* how) {
  throw bootstrap_error("ibv: rank " + std::to_string(rank) + " " + how);
}

}  // namespace

address_exchange::offer_id offer_address(address_exchange& exchange, const address& mine,
                                         const std::vector<uint32_t>& pairs) {
  std::string blob(reinterpret_cast<const char*>(&mine), sizeof mine);
  blob.append(reinterpret_cast<const char*>(pairs.data()), std::min(pairs_at_once, pairs.size()) * sizeof(uint32_t));
  return exchange.offer(blob);
}

std::vector<remote_end> read_addresses(address_exchange& exchange, address_exchange::offer_id offered,
                                       const address& mine, const std::vector<uint32_t>& pairs) {
  const auto rank = static_cast<size_t>(exchange.rank());
  std::vector<remote_end> ends(pairs.size());
  // The first round carries the address and the first numbers, further rounds the other numbers; each rank finds its
  // own number in one of the rounds.
  for (size_t begin = 0; begin < pairs.size(); begin += pairs_at_once) {
    const size_t n = std::min(pairs_at_once, pairs.size() - begin);
    const size_t front = begin == 0 ? sizeof mine : 0;
    const std::vector<std::string> all =
        begin == 0 ? exchange.read_all(offered)
                   : exchange.allgather({reinterpret_cast<const char*>(&pairs[begin]), n * sizeof(uint32_t)});
    for (size_t r = 0; r < all.size(); ++r) {
      if (all[r].size() != front + n * sizeof(uint32_t))
        misfit(r, "uses another network or version of LCI; all must agree");
      if (begin == 0) std::memcpy(&ends[r].device, all[r].data(), sizeof mine);
      if (rank < begin || rank >= begin + n) continue;
      std::memcpy(&ends[r].pair, all[r].data() + front + (rank - begin) * sizeof(uint32_t), sizeof(uint32_t));
    }
  }
  for (size_t r = 0; r < ends.size(); ++r) {
    if (ends[r].device.magic != address::magic_number)
      misfit(r, "uses another network, version of LCI, or byte order; all must agree");
    if (ends[r].device.has_gid != mine.has_gid)
      misfit(r, mine.has_gid != 0 ? "has no GID, but we use ours" : "uses its GID, but we have none");
  }
  return ends;
}

}  // namespace lci::network::ibv
