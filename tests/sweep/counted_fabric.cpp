// A libfabric.so.1 that wraps the real one: it counts the calls of the program, and makes them fail if the program
// asks for it. Most calls of libfabric are inline and use tables of functions in its objects, so each object gets
// copies of its tables with the functions of this file.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>

#include "tests/sweep/faults.hpp"

namespace {

using sweep::call;

/// Loaded together with this library, since LCI sets variables during that time, which libfabric reads then.
void* const real = dlopen(REAL_LIBFABRIC, RTLD_NOW | RTLD_LOCAL);

template <class F>
F* behind(const char* name) {
  void* const found = real == nullptr ? nullptr : dlsym(real, name);
  if (found == nullptr) {
    std::fprintf(stderr, "counted_fabric: no %s in %s: %s\n", name, REAL_LIBFABRIC, dlerror());
    std::exit(2);
  }
  return reinterpret_cast<F*>(found);
}

/// Our copy of a provider's table.
template <class Ops>
struct table {
  Ops ours;  // must be first, as objects point to it
  const Ops* real;
};
template <class Ops>
const Ops& real_of(const Ops* ours) {
  return *reinterpret_cast<const table<Ops>*>(ours)->real;
}

std::mutex mutex;  // guards all variables below

/// Replaces an object's table by the copy, into which `change` has put our functions.
template <class Ops, class F>
void stand_before(Ops*& ops, F change) {
  static auto& all = *new std::map<const Ops*, table<Ops>>;  // never destroyed: used while the process ends, too
  const std::lock_guard guard(mutex);
  for (const auto& [real, known] : all)
    if (&known.ours == ops) return;
  table<Ops>& t = all[ops];
  if (t.real == nullptr) {
    t.ours = *ops;
    t.real = ops;
    change(t.ours);
  }
  ops = &t.ours;
}

/// Completions that were read from a queue and not returned yet.
struct waiting {
  struct entry {
    fi_cq_data_entry what;
    int error;
  };
  bool understood = false;  // whether the queue's format is supported
  std::deque<entry> entries;
};
auto& queues = *new std::map<const fid*, waiting>;

/// Counts a call. Returns minus the error if it must fail, or 0.
int failure(call which) { return -sweep::count(which); }

int close_counted(fid* object) {
  if (const int error = failure(call::fi_close)) return error;
  const int result = real_of(object->ops).close(object);
  if (result != 0) return result;
  sweep::count_objects(-1);
  const std::lock_guard guard(mutex);
  queues.erase(object);
  return 0;
}
int bind_counted(fid* object, fid* to, uint64_t flags) {
  if (const int error = failure(object->fclass == FI_CLASS_MR ? call::fi_mr_bind : call::fi_ep_bind)) return error;
  return real_of(object->ops).bind(object, to, flags);
}
int control_counted(fid* object, int command, void* argument) {
  if (const int error = failure(command == FI_ENABLE ? call::fi_enable : call::fi_control)) return error;
  return real_of(object->ops).control(object, command, argument);
}
/// Called for each new object.
void adopt(fid& object) {
  sweep::count_objects(1);
  stand_before(object.ops, [](fi_ops& ops) {
    ops.close = close_counted;
    ops.bind = bind_counted;
    ops.control = control_counted;
  });
}

ssize_t cq_read(fid_cq* queue, void* to, size_t most) {
  if (const int error = failure(call::fi_cq_read)) return error;
  const std::lock_guard guard(mutex);
  waiting& w = queues[&queue->fid];
  if (!w.understood) return real_of(queue->ops).read(queue, to, most);
  auto* out = static_cast<fi_cq_data_entry*>(to);
  if (w.entries.empty()) {
    const ssize_t n = real_of(queue->ops).read(queue, to, most);
    if (n <= 0) return n;
    // First all entries, as allocations may fail after the fault.
    for (ssize_t i = 0; i < n; ++i) w.entries.push_back({out[i], 0});
    for (waiting::entry& e : w.entries) e.error = sweep::count(call::fi_completion);
  }
  if (w.entries.front().error != 0) return -FI_EAVAIL;
  size_t n = 0;
  for (; n < most && !w.entries.empty() && w.entries.front().error == 0; ++n) {
    out[n] = w.entries.front().what;
    w.entries.pop_front();
  }
  return static_cast<ssize_t>(n);
}
ssize_t cq_readerr(fid_cq* queue, fi_cq_err_entry* to, uint64_t flags) {
  if (const int error = failure(call::fi_cq_readerr)) return error;
  const std::lock_guard guard(mutex);
  waiting& w = queues[&queue->fid];
  if (w.entries.empty() || w.entries.front().error == 0) return real_of(queue->ops).readerr(queue, to, flags);
  const auto [entry, error] = w.entries.front();
  w.entries.pop_front();
  *to = {};
  to->op_context = entry.op_context;
  to->flags = entry.flags;
  to->len = entry.len;
  to->err = error;
  return 1;
}

int mr_reg(fid* domain, const void* base, size_t size, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
           fid_mr** made, void* context) {
  if (const int error = failure(call::fi_mr_reg)) return error;
  const fi_ops_mr& real = real_of(reinterpret_cast<fid_domain*>(domain)->mr);
  const int result = real.reg(domain, base, size, access, offset, key, flags, made, context);
  if (result == 0) adopt((*made)->fid);
  return result;
}

int av_insert(fid_av* addresses, const void* what, size_t n, fi_addr_t* to, uint64_t flags, void* context) {
  // The call returns the number of inserted addresses; here an error concerns all of them.
  if (const int error = failure(call::fi_av_insert)) return error;
  return real_of(addresses->ops).insert(addresses, what, n, to, flags, context);
}
int av_open(fid_domain* domain, fi_av_attr* attr, fid_av** made, void* context) {
  if (const int error = failure(call::fi_av_open)) return error;
  const int result = real_of(domain->ops).av_open(domain, attr, made, context);
  if (result != 0) return result;
  adopt((*made)->fid);
  stand_before((*made)->ops, [](fi_ops_av& ops) { ops.insert = av_insert; });
  return 0;
}

int cq_open(fid_domain* domain, fi_cq_attr* attr, fid_cq** made, void* context) {
  if (const int error = failure(call::fi_cq_open)) return error;
  const int result = real_of(domain->ops).cq_open(domain, attr, made, context);
  if (result != 0) return result;
  adopt((*made)->fid);
  stand_before((*made)->ops, [](fi_ops_cq& ops) {
    ops.read = cq_read;
    ops.readerr = cq_readerr;
  });
  const std::lock_guard guard(mutex);
  queues[&(*made)->fid].understood = attr->format == FI_CQ_FORMAT_DATA;
  return 0;
}

// A function of endpoints: its table's member in fid_ep, its member in the table, the call's name, parameters and
// arguments.
#define COUNTED(table, function, call_name, parameters, arguments) \
  ssize_t call_name##_counted parameters {                         \
    if (const int error = failure(call::call_name)) return error;  \
    return real_of(ep->table).function arguments;                  \
  }
COUNTED(msg, recv, fi_recv, (fid_ep * ep, void* to, size_t size, void* desc, fi_addr_t from, void* context),
        (ep, to, size, desc, from, context))
COUNTED(msg, sendmsg, fi_sendmsg, (fid_ep * ep, const fi_msg* message, uint64_t flags), (ep, message, flags))
COUNTED(msg, inject, fi_inject, (fid_ep * ep, const void* data, size_t size, fi_addr_t to), (ep, data, size, to))
COUNTED(msg, injectdata, fi_injectdata, (fid_ep * ep, const void* data, size_t size, uint64_t more, fi_addr_t to),
        (ep, data, size, more, to))
COUNTED(rma, writemsg, fi_writemsg, (fid_ep * ep, const fi_msg_rma* message, uint64_t flags), (ep, message, flags))
COUNTED(rma, readmsg, fi_readmsg, (fid_ep * ep, const fi_msg_rma* message, uint64_t flags), (ep, message, flags))
COUNTED(rma, inject, fi_inject_write,
        (fid_ep * ep, const void* data, size_t size, fi_addr_t to, uint64_t at, uint64_t key),
        (ep, data, size, to, at, key))
COUNTED(rma, injectdata, fi_inject_writedata,
        (fid_ep * ep, const void* data, size_t size, uint64_t more, fi_addr_t to, uint64_t at, uint64_t key),
        (ep, data, size, more, to, at, key))
#undef COUNTED

int getname(fid_t endpoint, void* to, size_t* size) {
  if (const int error = failure(call::fi_getname)) return error;
  return real_of(reinterpret_cast<fid_ep*>(endpoint)->cm).getname(endpoint, to, size);
}

int endpoint_open(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
  if (const int error = failure(call::fi_endpoint)) return error;
  const int result = real_of(domain->ops).endpoint(domain, info, made, context);
  if (result != 0) return result;
  adopt((*made)->fid);
  stand_before((*made)->cm, [](fi_ops_cm& ops) { ops.getname = getname; });
  stand_before((*made)->msg, [](fi_ops_msg& ops) {
    ops.recv = fi_recv_counted;
    ops.sendmsg = fi_sendmsg_counted;
    ops.inject = fi_inject_counted;
    ops.injectdata = fi_injectdata_counted;
  });
  if ((*made)->rma == nullptr) return 0;
  stand_before((*made)->rma, [](fi_ops_rma& ops) {
    ops.writemsg = fi_writemsg_counted;
    ops.readmsg = fi_readmsg_counted;
    ops.inject = fi_inject_write_counted;
    ops.injectdata = fi_inject_writedata_counted;
  });
  return 0;
}

int domain_open(fid_fabric* fabric, fi_info* info, fid_domain** made, void* context) {
  if (const int error = failure(call::fi_domain)) return error;
  const int result = real_of(fabric->ops).domain(fabric, info, made, context);
  if (result != 0) return result;
  adopt((*made)->fid);
  stand_before((*made)->ops, [](fi_ops_domain& ops) {
    ops.av_open = av_open;
    ops.cq_open = cq_open;
    ops.endpoint = endpoint_open;
  });
  stand_before((*made)->mr, [](fi_ops_mr& ops) { ops.reg = mr_reg; });
  return 0;
}

int trywait(fid_fabric* fabric, fid** queue, int n) {
  if (const int error = failure(call::fi_trywait)) return error;
  {
    const std::lock_guard guard(mutex);
    for (int i = 0; i < n; ++i)
      if (const auto at = queues.find(queue[i]); at != queues.end() && !at->second.entries.empty()) return -FI_EAGAIN;
  }
  return real_of(fabric->ops).trywait(fabric, queue, n);
}

}  // namespace

extern "C" {

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags, const fi_info* hints,
                        fi_info** found) {
  static auto* const real = behind<decltype(::fi_getinfo)>("fi_getinfo");
  if (const int error = failure(call::fi_getinfo)) return error;
  const int result = real(version, node, service, flags, hints, found);
  if (result == 0) sweep::count_objects(1);
  return result;
}
EXPORTED void fi_freeinfo(fi_info* info) {
  static auto* const real = behind<decltype(::fi_freeinfo)>("fi_freeinfo");
  if (info != nullptr) sweep::count_objects(-1);
  real(info);
}
EXPORTED fi_info* fi_dupinfo(const fi_info* info) {
  static auto* const real = behind<decltype(::fi_dupinfo)>("fi_dupinfo");
  if (failure(call::fi_dupinfo) != 0) return nullptr;
  fi_info* const copy = real(info);
  if (copy != nullptr) sweep::count_objects(1);
  return copy;
}
EXPORTED int fi_fabric(fi_fabric_attr* attr, fid_fabric** made, void* context) {
  static auto* const real = behind<decltype(::fi_fabric)>("fi_fabric");
  if (const int error = failure(call::fi_fabric)) return error;
  const int result = real(attr, made, context);
  if (result != 0) return result;
  adopt((*made)->fid);
  stand_before((*made)->ops, [](fi_ops_fabric& ops) {
    ops.domain = domain_open;
    ops.trywait = trywait;
  });
  return 0;
}
EXPORTED const char* fi_strerror(int error) {
  static auto* const real = behind<decltype(::fi_strerror)>("fi_strerror");
  return real(error);
}
}
