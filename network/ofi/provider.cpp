#include "network/ofi/provider.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/check.hpp"

namespace lci::network::ofi {

namespace {

constexpr uint32_t version = FI_VERSION(1, 17);
// The modes that this code supports. Supporting FI_MR_RAW and FI_MR_MMU_NOTIFY would cost more than it gains.
constexpr uint64_t known_mr_modes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
constexpr uint64_t basic_mr_mode = 1;  // FI_MR_BASIC, an enumerator that new headers hide

/// Registration modes that are used although the provider does not require them, for tests.
struct forced_modes {
  bool basic = false;  // virtual addresses and keys chosen by the provider: libfabric's oldest mode
  bool local = false;  // also register what is only sent or received
};

forced_modes forced_by(const std::string& text) {
  if (text.empty()) return {};
  if (text == "basic") return {true, false};
  if (text == "local") return {false, true};
  if (text == "basic,local") return {true, true};
  throw_invalid("alloc_net_context", "ofi_mr_mode", text, "basic, local, or basic,local");
}

/// All providers that could be used; null, with libfabric's error, if there is none.
owned_info find(const std::string& name, const std::string& domain, bool delivery, uint64_t mr_modes, int& error,
                const std::string& source = "") {
  owned_info hints(library::get().dupinfo(nullptr));
  if (hints == nullptr) throw resource_error("ofi: fi_dupinfo: out of memory");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = static_cast<int>(mr_modes);
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (delivery) hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  // libfabric frees these strings with the hints.
  if (!name.empty()) hints->fabric_attr->prov_name = strdup(name.c_str());
  if (!domain.empty()) hints->domain_attr->name = strdup(domain.c_str());
  fi_info* all = nullptr;
  const auto settings = library::settings();
  const char* const node = source.empty() ? nullptr : source.c_str();
  error = -library::get().getinfo(version, node, nullptr, node == nullptr ? 0 : FI_SOURCE, hints.get(), &all);
  // Not every provider has IP addresses.
  if (error != 0 && node != nullptr) error = -library::get().getinfo(version, nullptr, nullptr, 0, hints.get(), &all);
  return owned_info(error == 0 ? all : nullptr);
}

/// Returns true if the system refuses resources for the query; false if there simply is no provider.
bool is_refusal(int error) { return error != 0 && error != FI_ENODATA && error != FI_ENOSYS; }

std::string refusal(int error) {
  return "fi_getinfo: " + error_text(error) + " (" + std::to_string(error) + "); `fi_info` shows more";
}

bool has(const char* text, std::string_view part) {
  return text != nullptr && std::string_view(text).find(part) != std::string_view::npos;
}

bool is_over_tcp(const char* name) { return has(name, "tcp") || has(name, "net"); }

/// Other networks before TCP, and providers that lead to other hosts before those that don't. Negative: only if asked
/// for.
int rank_of(const fi_info& info) {
  const char* const name = info.fabric_attr->prov_name;
  for (const std::string_view never : {"shm", "sockets", "udp", "UDP", "ofi_rxd", "ofi_mrail", "hook"})
    if (has(name, never)) return -1;
  int rank = has(name, "cxi") || has(name, "efa") || has(name, "psm") || has(name, "opx") ? 300
             : has(name, "verbs")                                                         ? 200
             : is_over_tcp(name)                                                          ? 100
                                                                                          : 150;
  if (std::string_view(info.domain_attr->name) == "lo") rank -= 90;
  if (info.addr_format == FI_SOCKADDR_IN6) rank -= 10;  // link-local addresses are not valid on other hosts
  if (info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->state == FI_LINK_DOWN) rank -= 95;
  return rank;
}

/// `domain`: the required domain, or empty; not every provider obeys the hint.
const fi_info* best_of(const fi_info* all, bool asked_for, const std::string& domain = "") {
  const fi_info* best = nullptr;
  int best_rank = -1;
  for (const fi_info* i = all; i != nullptr; i = i->next) {
    if (!domain.empty() && domain != i->domain_attr->name) continue;
    const int rank = asked_for ? std::max(rank_of(*i), 0) : rank_of(*i);
    if (rank > best_rank) {
      best = i;
      best_rank = rank;
    }
  }
  return best;
}

/// What fi_info would list, for an error message.
std::string listed(const owned_info& all) {
  std::vector<std::string> seen;
  std::string text;
  for (const fi_info* i = all.get(); i != nullptr; i = i->next) {
    std::string one = std::string(i->fabric_attr->prov_name) + " on " + i->domain_attr->name;
    if (std::find(seen.begin(), seen.end(), one) != seen.end()) continue;
    text += (text.empty() ? "" : ", ") + one;
    seen.push_back(std::move(one));
  }
  return text;
}

}  // namespace

provider::provider(const net_context_attr_t& attr, const datagram_request& wanted) {
  if (const std::string& missing = library::get().missing; !missing.empty()) throw resource_error("ofi: " + missing);
  const std::string &name = wanted.provider, &domain = attr.device_name;
  const forced_modes forced = forced_by(attr.ofi_mr_mode);
  const uint64_t modes = forced.basic ? basic_mr_mode : known_mr_modes;
  int error = 0;
  // Delivery completion for puts is worth the other modes that a provider may need for it.
  bool delivery = true;
  owned_info all = find(name, domain, delivery, modes, error, wanted.source);
  if (is_refusal(error)) throw resource_error("ofi: " + refusal(error));
  if (best_of(all.get(), !name.empty(), domain) == nullptr) {
    delivery = false;
    all = find(name, domain, delivery, modes, error, wanted.source);
  }
  const fi_info* best = best_of(all.get(), !name.empty(), domain);
  if (best == nullptr) {
    if (is_refusal(error)) throw resource_error("ofi: " + refusal(error));
    int ignored = 0;
    const std::string here = listed(find("", "", false, known_mr_modes, ignored));
    const owned_info elsewhere = find(name, "", false, known_mr_modes, ignored);
    const bool of_device = !domain.empty() && best_of(elsewhere.get(), !name.empty()) != nullptr;
    throw_invalid(
        wanted.operation, of_device ? "device_name" : wanted.argument, of_device ? domain : name,
        here.empty() ? "one of libfabric's providers of reliable datagrams: it has none here" : "one of: " + here,
        error == 0 ? "" : "libfabric says: " + error_text(error));
  }
  info_.reset(library::get().dupinfo(best));
  if (info_ == nullptr) throw resource_error("ofi: fi_dupinfo: out of memory");
  mr_mode_ = static_cast<uint64_t>(info_->domain_attr->mr_mode);
  if ((mr_mode_ & basic_mr_mode) != 0) mr_mode_ = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (forced.local) mr_mode_ |= FI_MR_LOCAL;
  info_->tx_attr->op_flags = 0;  // each call sets its own flags
  info_->domain_attr->av_type = FI_AV_TABLE;
  one_call_at_a_time_ = this->name() == "net";
  is_over_tcp_ = is_over_tcp(info_->fabric_attr->prov_name);
  carries_data_ = attr.ofi_cq_data && info_->domain_attr->cq_data_size >= 4;
  // An address relative to the range needs the range's page in the rkey, next to a key of our choice.
  rma_ = delivery && attr.ofi_rma && (info_->caps & FI_RMA) != 0 &&
         (needs(FI_MR_VIRT_ADDR) || !needs(FI_MR_PROV_KEY)) && info_->domain_attr->mr_key_size >= 4 &&
         info_->domain_attr->mr_key_size <= 8;
}

usability look(const net_context_attr_t& attr) {
  if (const std::string& missing = library::get().missing; !missing.empty()) return {missing};
  int error = 0;
  const owned_info all = find("", "", false, known_mr_modes, error);
  if (const fi_info* best = best_of(all.get(), false))
    return {"", attr.ofi_provider_name.empty() && is_over_tcp(best->fabric_attr->prov_name)};
  if (error != 0 && error != FI_ENODATA) return {refusal(error), false, is_refusal(error)};
  return {
      "libfabric has no provider here that leads to other hosts; `fi_info` lists them, "
      "LCI_ATTR_OFI_PROVIDER_NAME asks for one"};
}

}  // namespace lci::network::ofi
