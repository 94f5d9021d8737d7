#include "network/ofi/handles.hpp"

#include <string>

#include "lib/base/log.hpp"

namespace lci::network::ofi {

namespace {

/// Attempts of fi_close() on a memory region, which providers refuse while something still uses it. Other objects are
/// closed once only: ofi_rxm of libfabric 1.17 has freed half of its domain when it returns FI_EBUSY.
constexpr int most_tries = 10;

const char* name_of(const fid& object) {
  switch (object.fclass) {
    case FI_CLASS_FABRIC:
      return "a fabric";
    case FI_CLASS_DOMAIN:
      return "a domain";
    case FI_CLASS_EP:
      return "an endpoint";
    case FI_CLASS_CQ:
      return "a completion queue";
    case FI_CLASS_AV:
      return "an address vector";
    case FI_CLASS_MR:
      return "a memory region";
    default:
      return "an object";
  }
}

/// Closing an endpoint without an address vector crashes ofi_rxm of libfabric 1.17. So binding is tried twice, and if
/// both attempts fail the endpoint stays open.
int bind_addresses(fid_ep& endpoint, fid_av& addresses) {
  const int first = fi_ep_bind(&endpoint, &addresses.fid, 0);
  return first == 0 ? 0 : fi_ep_bind(&endpoint, &addresses.fid, 0);
}

}  // namespace

void close_object(fid& object) noexcept {
  const char* const what = name_of(object);  // read before fi_close() frees the object
  int error = 0;
  for (int left = object.fclass == FI_CLASS_MR ? most_tries : 1; left > 0; --left)
    if ((error = -fi_close(&object)) != FI_EBUSY && error != FI_EAGAIN) break;
  if (error == 0) return;
  try {
    log_warning(std::string("ofi: fi_close of ") + what + ": " + error_text(error) + " (" + std::to_string(error) +
                "): it stays open until the process ends; FI_LOG_LEVEL=warn makes libfabric say more");
  } catch (const std::exception&) {
    // Out of memory: the log message is dropped.
  }
}

endpoint_parts open_parts(fid_fabric& fabric, fi_info& info, size_t completions, size_t peers,
                          const std::string& where) {
  endpoint_parts p;
  fid_domain* domain = nullptr;
  check(fi_domain(&fabric, &info, &domain, nullptr), "fi_domain" + where);
  p.domain.reset(domain);

  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_DATA;
  cq.size = completions;
  cq.wait_obj = FI_WAIT_FD;
  fid_cq* queue = nullptr;
  if (fi_cq_open(domain, &cq, &queue, nullptr) != 0) {
    cq.wait_obj = FI_WAIT_NONE;
    check(fi_cq_open(domain, &cq, &queue, nullptr), "fi_cq_open" + where);
  }
  p.queue.reset(queue);
  if (cq.wait_obj == FI_WAIT_FD && fi_control(&queue->fid, FI_GETWAIT, &p.wait_fd) != 0) p.wait_fd = -1;

  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  av.count = peers;
  fid_av* addresses = nullptr;
  check(fi_av_open(domain, &av, &addresses, nullptr), "fi_av_open" + where);
  p.addresses.reset(addresses);

  fid_ep* endpoint = nullptr;
  check(fi_endpoint(domain, &info, &endpoint, nullptr), "fi_endpoint" + where);
  p.endpoint.reset(endpoint);
  if (const int result = bind_addresses(*endpoint, *addresses); result != 0) {
    (void)p.endpoint.release();
    check(result, "fi_ep_bind" + where);
  }
  check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "fi_ep_bind" + where);
  check(fi_ep_bind(endpoint, &queue->fid, FI_RECV), "fi_ep_bind" + where);
  check(fi_enable(endpoint), "fi_enable" + where);
  return p;
}

}  // namespace lci::network::ofi
