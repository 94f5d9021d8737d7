#include "network/ibv/gid.hpp"

#include <array>
#include <cstring>
#include <string>

#include "lib/base/check.hpp"
#include "network/ibv/library.hpp"

namespace lci::network::ibv {

namespace {

/// Uses only the _ex query: the older one also returns empty entries.
bool query(ibv_context& device, uint8_t port, int index, ibv_gid_entry& entry) {
  return library::get().query_gid_ex(&device, port, static_cast<uint32_t>(index), &entry, 0, sizeof entry) == 0;
}

/// RoCE v2 is routed by IP. Link-local addresses are listed even if the system has no route for them.
int rank_of(const ibv_gid_entry& entry) {
  constexpr std::array<uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (entry.gid_type == IBV_GID_TYPE_IB) return 1;
  const int version = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 10 : 0;
  if (std::memcmp(entry.gid.raw, mapped.data(), mapped.size()) == 0) return version + 4;
  const bool link_local = entry.gid.raw[0] == 0xfe && (entry.gid.raw[1] & 0xc0) == 0x80;
  return version + (link_local ? 2 : 3);
}

}  // namespace

gid_choice choose_gid(ibv_context& device, const char* name, uint8_t port, const ibv_port_attr& port_attr,
                      const net_context_attr_t& attr) {
  const bool ethernet = port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;
  if (!ethernet && attr.ibv_gid_idx < 0 && !attr.ibv_force_gid_auto_select) return {};
  const std::string where = std::string(name) + " port " + std::to_string(port);
  ibv_gid_entry entry{};
  if (attr.ibv_gid_idx >= port_attr.gid_tbl_len)
    throw_invalid("alloc_net_context", "ibv_gid_idx", std::to_string(attr.ibv_gid_idx),
                  "-1.." + std::to_string(port_attr.gid_tbl_len - 1),
                  "-1 lets LCI choose; `show_gids` or `ibv_devinfo -v` lists those of " + where);
  if (attr.ibv_gid_idx >= 0) {
    if (query(device, port, attr.ibv_gid_idx, entry)) return {entry.gid, attr.ibv_gid_idx};
    std::string used;
    for (int i = 0; i < port_attr.gid_tbl_len; ++i)
      if (query(device, port, i, entry)) used += (used.empty() ? "" : ", ") + std::to_string(i);
    throw_invalid("alloc_net_context", "ibv_gid_idx", std::to_string(attr.ibv_gid_idx),
                  used.empty() ? "-1" : "-1 or one of: " + used, where + " has no GID there");
  }
  gid_choice best;
  int best_rank = 0;
  for (int i = 0; i < port_attr.gid_tbl_len; ++i) {
    if (!query(device, port, i, entry) || rank_of(entry) <= best_rank) continue;
    best = {entry.gid, i};
    best_rank = rank_of(entry);
  }
  if (best.index < 0) throw resource_error("ibv: " + where + " has no GID; give its network interface an IP address");
  return best;
}

}  // namespace lci::network::ibv
