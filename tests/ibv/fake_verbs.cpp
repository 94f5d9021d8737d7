// A libibverbs with a simulated card, whose queue pairs connect within this process only. It supports what the
// software cards of the kernel lack: thread domains and on-demand paging. Requests are executed within the call
// that posts them.
#include "tests/ibv/fake_verbs.hpp"

#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#undef ibv_reg_mr
#undef ibv_query_port

namespace {

fake_card card;
std::mutex mutex;  // guards all variables and objects below

struct fake_device : ibv_device {
  fake_device() : ibv_device() { std::strcpy(name, "fake0"), std::strcpy(dev_name, "fakeverbs0"); }
} the_device;

struct fake_td : ibv_td {};
struct fake_pd : ibv_pd {
  const ibv_td* thread = nullptr;
};
struct fake_mr : ibv_mr {
  int access = 0;
  bool whole = false;
};
struct fake_channel : ibv_comp_channel {
  ibv_cq* notifies = nullptr;
};
struct fake_cq : ibv_cq {
  std::deque<ibv_wc> entries;
  bool armed = false;
};
struct fake_srq : ibv_srq {
  std::deque<std::pair<ibv_recv_wr, ibv_sge>> buffers;
};
struct fake_qp : ibv_qp {
  uint32_t other_end = 0;
};

std::map<uint32_t, fake_mr*> registrations;  // by key; local and remote keys are equal
std::map<uint32_t, fake_qp*> pairs;          // by number
uint32_t last_key = 0, last_pair = 0;

/// Counts a call. Returns the errno with which it must fail, or 0.
int failure(const char* call) {
  static std::mutex of_counts;
  const std::lock_guard guard(of_counts);
  const int n = ++card.calls[call];
  if (card.failing != call || n < card.failing_from || n >= card.failing_from + card.failing_times) return 0;
  ++card.failed;
  return errno = card.error;
}

/// The same for a call that destroys `object`. If the call fails, the object remains until the process ends, as with a
/// real card: the list is never destroyed, so sanitizers report no leak for objects that LCI could not destroy.
int failure_to_destroy(const char* call, const void* object) {
  static auto& left = *new std::vector<const void*>;
  const int error = failure(call);
  const std::lock_guard guard(mutex);
  if (error != 0) left.push_back(object);
  return error;
}

template <class T, class Of>
T* fake(Of* of) {
  return static_cast<T*>(of);
}

/// Returns whether the key gives this access to all these bytes.
bool covers(uint32_t key, uint64_t address, uint64_t size, int access) {
  const auto found = registrations.find(key);
  if (found == registrations.end()) return false;
  const fake_mr& mr = *found->second;
  if ((mr.access & access) != access) return false;
  const auto base = reinterpret_cast<uintptr_t>(mr.addr);
  return mr.whole || (address >= base && address - base <= mr.length && size <= mr.length - (address - base));
}

void complete(fake_cq& cq, ibv_wc wc, bool received) {
  if (received == card.completions_of_receives && wc.status == IBV_WC_SUCCESS)
    if (const int status = failure("completion")) {
      wc.status = static_cast<ibv_wc_status>(status);
      pairs[wc.qp_num]->state = IBV_QPS_ERR;
    }
  cq.entries.push_back(wc);
  if (cq.entries.size() > static_cast<size_t>(cq.cqe)) ++card.mistakes;
  if (!cq.armed || cq.channel == nullptr) return;
  cq.armed = false;
  fake<fake_channel>(cq.channel)->notifies = &cq;
  const uint64_t one = 1;
  if (write(cq.channel->fd, &one, sizeof one) != sizeof one) ++card.mistakes;
}

std::string gather(const ibv_send_wr& wr, bool& allowed) {
  std::string bytes;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& piece = wr.sg_list[i];
    allowed &=
        (wr.send_flags & IBV_SEND_INLINE) != 0 || piece.length == 0 || covers(piece.lkey, piece.addr, piece.length, 0);
    if (allowed && piece.length > 0) bytes.append(reinterpret_cast<const char*>(piece.addr), piece.length);
  }
  return bytes;
}

/// A message, or a write with immediate data, consumes a receive buffer of the peer. ENOMEM if there is none.
int deliver(fake_qp& to, const std::string* bytes, const ibv_send_wr& wr, uint32_t size) {
  fake_srq& srq = *fake<fake_srq>(to.srq);
  if (srq.buffers.empty()) return ENOMEM;
  const auto [work, buffer] = srq.buffers.front();
  srq.buffers.pop_front();
  ibv_wc wc{};
  wc.wr_id = work.wr_id;
  wc.qp_num = to.qp_num;
  wc.byte_len = size;
  wc.opcode = bytes != nullptr ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  if (wr.opcode != IBV_WR_SEND) wc.wc_flags = IBV_WC_WITH_IMM, wc.imm_data = wr.imm_data;
  if (bytes != nullptr &&
      (bytes->size() > buffer.length ||
       (!bytes->empty() && !covers(buffer.lkey, buffer.addr, bytes->size(), IBV_ACCESS_LOCAL_WRITE)))) {
    wc.status = IBV_WC_LOC_PROT_ERR;
    ++card.mistakes;
  } else if (bytes != nullptr) {
    std::memcpy(reinterpret_cast<void*>(buffer.addr), bytes->data(), bytes->size());
  }
  complete(*fake<fake_cq>(to.recv_cq), wc, true);
  return 0;
}

int carry_out(fake_qp& from, const ibv_send_wr& wr) {
  ibv_wc wc{};
  wc.wr_id = wr.wr_id;
  wc.qp_num = from.qp_num;
  const auto other = pairs.find(from.other_end);
  if (from.state != IBV_QPS_RTS || other == pairs.end()) {
    wc.status = IBV_WC_WR_FLUSH_ERR;
    complete(*fake<fake_cq>(from.send_cq), wc, false);
    return 0;
  }
  bool allowed = true;
  const uint64_t there = wr.wr.rdma.remote_addr;
  const uint32_t key = wr.wr.rdma.rkey;
  if (wr.opcode == IBV_WR_RDMA_READ) {
    wc.opcode = IBV_WC_RDMA_READ;
    uint64_t at = there;
    for (int i = 0; i < wr.num_sge && allowed; ++i) {
      const ibv_sge& piece = wr.sg_list[i];
      allowed = covers(key, at, piece.length, IBV_ACCESS_REMOTE_READ) &&
                covers(piece.lkey, piece.addr, piece.length, IBV_ACCESS_LOCAL_WRITE);
      if (allowed) std::memmove(reinterpret_cast<void*>(piece.addr), reinterpret_cast<const void*>(at), piece.length);
      at += piece.length;
    }
    ++card.reads;
  } else {
    const std::string bytes = gather(wr, allowed);
    const auto size = static_cast<uint32_t>(bytes.size());
    if (wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM) {
      wc.opcode = IBV_WC_SEND;
      if (allowed)
        if (const int error = deliver(*other->second, &bytes, wr, size)) return error;
      ++card.messages;
    } else {
      wc.opcode = IBV_WC_RDMA_WRITE;
      allowed = allowed && (size == 0 || covers(key, there, size, IBV_ACCESS_REMOTE_WRITE));
      if (allowed && wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        if (const int error = deliver(*other->second, nullptr, wr, size)) return error;
      if (allowed && size > 0) std::memcpy(reinterpret_cast<void*>(there), bytes.data(), size);
      ++card.writes;
    }
  }
  if (!allowed) {
    wc.status = IBV_WC_REM_ACCESS_ERR;
    from.state = IBV_QPS_ERR;
    ++card.mistakes;
  }
  if (!allowed || (wr.send_flags & IBV_SEND_SIGNALED) != 0) complete(*fake<fake_cq>(from.send_cq), wc, false);
  return 0;
}

int post_send(ibv_qp* pair, ibv_send_wr* work, ibv_send_wr** refused) {
  if (const int error = failure("post_send")) return *refused = work, error;
  std::lock_guard guard(mutex);
  for (; work != nullptr; work = work->next)
    if (const int error = carry_out(*fake<fake_qp>(pair), *work)) return *refused = work, error;
  return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* work, ibv_recv_wr** refused) {
  if (const int error = failure("post_srq_recv")) return *refused = work, error;
  std::lock_guard guard(mutex);
  for (; work != nullptr; work = work->next) fake<fake_srq>(srq)->buffers.emplace_back(*work, work->sg_list[0]);
  return 0;
}

int poll_cq(ibv_cq* queue, int most, ibv_wc* to) {
  if (const int error = failure("poll_cq")) return -error;
  std::lock_guard guard(mutex);
  auto& entries = fake<fake_cq>(queue)->entries;
  int n = 0;
  for (; n < most && !entries.empty(); ++n) {
    to[n] = entries.front();
    entries.pop_front();
  }
  return n;
}

int req_notify_cq(ibv_cq* queue, int) {
  if (const int error = failure("req_notify_cq")) return error;
  std::lock_guard guard(mutex);
  fake<fake_cq>(queue)->armed = true;
  return 0;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr*) {
  if (failure("alloc_td") != 0) return nullptr;
  std::lock_guard guard(mutex);
  ++card.threads;
  auto* td = new fake_td;
  td->context = context;
  return td;
}
int dealloc_td(ibv_td* td) {
  if (const int error = failure_to_destroy("dealloc_td", td)) return error;
  std::lock_guard guard(mutex);
  --card.threads;
  delete fake<fake_td>(td);
  return 0;
}
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) {
  if (failure("alloc_parent_domain") != 0) return nullptr;
  std::lock_guard guard(mutex);
  ++card.domains;
  auto* pd = new fake_pd;
  pd->context = context;
  pd->thread = attr->td;
  return pd;
}

int advise_mr(ibv_pd*, ibv_advise_mr_advice advice, uint32_t, ibv_sge* ranges, uint32_t n) {
  if (const int error = failure("advise_mr")) return error;
  std::lock_guard guard(mutex);
  for (uint32_t i = 0; i < n; ++i)
    if (!covers(ranges[i].lkey, ranges[i].addr, ranges[i].length, IBV_ACCESS_ON_DEMAND)) return EFAULT;
  card.advices.push_back(static_cast<int>(advice));
  return 0;
}

int query_device_ex(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attr, size_t size) {
  if (const int error = failure("query_device_ex")) return error;
  std::memset(attr, 0, size);
  if (!card.paging) return 0;
  attr->odp_caps.general_caps = IBV_ODP_SUPPORT | (card.implicit_paging ? IBV_ODP_SUPPORT_IMPLICIT : 0);
  attr->odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
                                                  IBV_ODP_SUPPORT_SRQ_RECV | IBV_ODP_SUPPORT_WRITE |
                                                  IBV_ODP_SUPPORT_READ;
  return 0;
}

}  // namespace

// Names and types as in infiniband/verbs.h.
extern "C" {

__attribute__((visibility("default"))) fake_card* fake_verbs_card() { return &card; }

ibv_device** ibv_get_device_list(int* n) {
  if (failure("get_device_list") != 0) return n != nullptr ? *n = 0, nullptr : nullptr;
  if (n != nullptr) *n = 1;
  return new ibv_device* [2] { &the_device, nullptr };
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  if (failure("open_device") != 0) return nullptr;
  auto* more = new verbs_context{};
  more->sz = sizeof *more;
  if (card.thread_domains) {
    more->alloc_td = alloc_td;
    more->dealloc_td = dealloc_td;
    more->alloc_parent_domain = alloc_parent_domain;
  }
  if (card.advice) more->advise_mr = advise_mr;
  more->query_device_ex = query_device_ex;
  ibv_context& context = more->context;
  context.device = device;
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  context.async_fd = eventfd(0, EFD_CLOEXEC);
  context.ops.post_send = post_send;
  context.ops.post_srq_recv = post_srq_recv;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
  std::lock_guard guard(mutex);
  ++card.contexts;
  return &context;
}
int ibv_close_device(ibv_context* context) {
  if (failure("close_device") != 0) return -1;
  std::lock_guard guard(mutex);
  --card.contexts;
  close(context->async_fd);
  delete verbs_get_ctx(context);
  return 0;
}
int ibv_query_device(ibv_context*, ibv_device_attr* attr) {
  if (const int error = failure("query_device")) return error;
  *attr = {};
  attr->max_qp_wr = 1 << 14;
  attr->max_cqe = 1 << 20;
  attr->max_srq_wr = 1 << 15;
  attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
  attr->phys_port_cnt = 1;
  return 0;
}
int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* to) {
  if (const int error = failure("query_port")) return error;
  auto* attr = reinterpret_cast<ibv_port_attr*>(to);  // the type that callers of this library pass
  *attr = {};
  attr->state = IBV_PORT_ACTIVE;
  attr->lid = 1;
  attr->active_mtu = IBV_MTU_4096;
  attr->max_msg_sz = 1u << 30;
  attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
  return 0;
}
int _ibv_query_gid_ex(ibv_context*, uint32_t, uint32_t, ibv_gid_entry*, uint32_t, size_t) { return ENODATA; }
int ibv_get_async_event(ibv_context*, ibv_async_event*) {
  errno = EAGAIN;
  return -1;
}
void ibv_ack_async_event(ibv_async_event*) {}
const char* ibv_event_type_str(ibv_event_type) { return "an event"; }

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (failure("alloc_pd") != 0) return nullptr;
  std::lock_guard guard(mutex);
  ++card.domains;
  auto* pd = new fake_pd;
  pd->context = context;
  return pd;
}
int ibv_dealloc_pd(ibv_pd* pd) {
  if (const int error = failure_to_destroy("dealloc_pd", pd)) return error;
  std::lock_guard guard(mutex);
  --card.domains;
  delete fake<fake_pd>(pd);
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* base, size_t size, int access) {
  if (failure("reg_mr") != 0) return nullptr;
  const bool on_demand = (access & IBV_ACCESS_ON_DEMAND) != 0;
  const bool whole = base == nullptr && size == SIZE_MAX;
  if ((on_demand && !card.paging) || (whole && !(on_demand && card.implicit_paging))) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  std::lock_guard guard(mutex);
  auto* mr = new fake_mr;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = base;
  mr->length = size;
  mr->lkey = mr->rkey = ++last_key;
  mr->access = access;
  mr->whole = whole;
  registrations[mr->lkey] = mr;
  ++(whole ? card.whole : on_demand ? card.on_demand : card.pinned);
  ++(on_demand ? card.on_demand_made : card.pinned_made);
  return mr;
}
int ibv_dereg_mr(ibv_mr* registration) {
  if (const int error = failure_to_destroy("dereg_mr", registration)) return error;
  std::lock_guard guard(mutex);
  auto* mr = fake<fake_mr>(registration);
  --(mr->whole ? card.whole : (mr->access & IBV_ACCESS_ON_DEMAND) != 0 ? card.on_demand : card.pinned);
  registrations.erase(mr->lkey);
  delete mr;
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  if (failure("create_comp_channel") != 0) return nullptr;
  ++card.channels;
  auto* channel = new fake_channel;
  channel->context = context;
  channel->fd = eventfd(0, EFD_CLOEXEC);
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  if (const int error = failure_to_destroy("destroy_comp_channel", channel)) return error;
  --card.channels;
  close(channel->fd);
  delete fake<fake_channel>(channel);
  return 0;
}
ibv_cq* ibv_create_cq(ibv_context* context, int size, void* user, ibv_comp_channel* channel, int) {
  if (failure("create_cq") != 0) return nullptr;
  std::lock_guard guard(mutex);
  ++card.queues;
  auto* queue = new fake_cq;
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = user;
  queue->cqe = size;
  return queue;
}
int ibv_destroy_cq(ibv_cq* queue) {
  if (const int error = failure_to_destroy("destroy_cq", queue)) return error;
  std::lock_guard guard(mutex);
  --card.queues;
  delete fake<fake_cq>(queue);
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
  if (failure("get_cq_event") != 0) return -1;
  uint64_t n;
  if (read(channel->fd, &n, sizeof n) != sizeof n) return -1;
  std::lock_guard guard(mutex);
  *queue = fake<fake_channel>(channel)->notifies;
  *user = (*queue)->cq_context;
  return 0;
}
void ibv_ack_cq_events(ibv_cq*, unsigned) {}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr*) {
  if (failure("create_srq") != 0) return nullptr;
  ++card.receive_queues;
  auto* srq = new fake_srq;
  srq->context = pd->context;
  srq->pd = pd;
  return srq;
}
int ibv_destroy_srq(ibv_srq* srq) {
  if (const int error = failure_to_destroy("destroy_srq", srq)) return error;
  --card.receive_queues;
  delete fake<fake_srq>(srq);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  if (failure("create_qp") != 0) return nullptr;
  std::lock_guard guard(mutex);
  ++card.pairs;
  card.threads_of_pairs.push_back(fake<fake_pd>(pd)->thread);
  auto* pair = new fake_qp;
  pair->context = pd->context;
  pair->pd = pd;
  pair->send_cq = init->send_cq;
  pair->recv_cq = init->recv_cq;
  pair->srq = init->srq;
  pair->qp_num = ++last_pair;
  pair->state = IBV_QPS_RESET;
  pairs[pair->qp_num] = pair;
  return pair;
}
int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attr, int mask) {
  if (const int error = failure("modify_qp")) return error;
  std::lock_guard guard(mutex);
  if ((mask & IBV_QP_STATE) != 0) pair->state = attr->qp_state;
  if ((mask & IBV_QP_DEST_QPN) != 0) fake<fake_qp>(pair)->other_end = attr->dest_qp_num;
  return 0;
}
int ibv_destroy_qp(ibv_qp* pair) {
  if (const int error = failure_to_destroy("destroy_qp", pair)) return error;
  std::lock_guard guard(mutex);
  --card.pairs;
  pairs.erase(pair->qp_num);
  delete fake<fake_qp>(pair);
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status) { return "a status of the fake card"; }
}
