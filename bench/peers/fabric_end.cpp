#include "bench/peers/fabric_end.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <cstring>

namespace peers {
namespace {

void check_fabric(ssize_t result, const char* what) {
  if (result < 0) die(what, fi_strerror(static_cast<int>(-result)));
}

}  // namespace

fabric_domain::fabric_domain(const std::string& provider, bool threads) {
  fi_info* const hints = fi_allocinfo();
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_TAGGED;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->domain_attr->threading = threads ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  // shm names its endpoints itself; over the loopback, the address must be given.
  const bool local = provider == "shm";
  check_fabric(
      fi_getinfo(FI_VERSION(1, 17), local ? nullptr : "127.0.0.1", nullptr, local ? 0 : FI_SOURCE, hints, &info),
      "fi_getinfo");
  fi_freeinfo(hints);
  check_fabric(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
  check_fabric(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
}

fabric_domain::~fabric_domain() {
  fi_close(&domain->fid);
  fi_close(&fabric->fid);
  fi_freeinfo(info);
}

fabric_end::fabric_end(const fabric_domain& on, bool crowded)
    : inject_size_(on.info->tx_attr->inject_size), waiter_(crowded) {
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  cq.wait_obj = FI_WAIT_NONE;
  cq.size = 4096;
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  check_fabric(fi_cq_open(on.domain, &cq, &queue_, nullptr), "fi_cq_open");
  check_fabric(fi_av_open(on.domain, &av, &peers_, nullptr), "fi_av_open");
  check_fabric(fi_endpoint(on.domain, on.info, &endpoint_, nullptr), "fi_endpoint");
  check_fabric(fi_ep_bind(endpoint_, &peers_->fid, 0), "fi_ep_bind");
  check_fabric(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check_fabric(fi_enable(endpoint_), "fi_enable");
}

fabric_end::~fabric_end() {
  fi_close(&endpoint_->fid);
  fi_close(&queue_->fid);
  fi_close(&peers_->fid);
}

std::vector<char> fabric_end::address() const {
  std::vector<char> out(512);
  size_t size = out.size();
  check_fabric(fi_getname(&endpoint_->fid, out.data(), &size), "fi_getname");
  out.resize(size);
  return out;
}

void fabric_end::connect(const std::vector<char>& address) {
  if (fi_av_insert(peers_, address.data(), 1, &partner_, 0, nullptr) != 1) die("fi_av_insert", "no address taken");
}

void fabric_end::progress() {
  fi_cq_entry done[16];
  const ssize_t n = fi_cq_read(queue_, done, 16);
  if (n == -FI_EAGAIN) return waiter_.idle();
  if (n == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    fi_cq_readerr(queue_, &error, 0);
    die("libfabric", fi_strerror(error.err));
  }
  check_fabric(n, "fi_cq_read");
  for (ssize_t i = 0; i < n; ++i) static_cast<request*>(done[i].op_context)->done = true;
}

void fabric_end::send(const char* data, size_t size, uint64_t tag, request& r) {
  const bool injects = size <= inject_size_;  // complete on return, without a completion entry
  r.done = injects;
  for (;;) {
    const ssize_t result = injects ? fi_tinject(endpoint_, data, size, partner_, tag)
                                   : fi_tsend(endpoint_, data, size, nullptr, partner_, tag, &r);
    if (result == 0) return;
    if (result != -FI_EAGAIN) check_fabric(result, "a send");
    progress();
  }
}

void fabric_end::receive(char* data, size_t size, uint64_t tag, request& r) {
  r.done = false;
  for (;;) {
    const ssize_t result = fi_trecv(endpoint_, data, size, nullptr, FI_ADDR_UNSPEC, tag, 0, &r);
    if (result == 0) return;
    if (result != -FI_EAGAIN) check_fabric(result, "a receive");
    progress();
  }
}

}  // namespace peers
