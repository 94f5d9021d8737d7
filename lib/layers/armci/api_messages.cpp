// armci_msg_*: messages and collective operations.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "armci/parmci.h"
#include "lci/job.hpp"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

/// The members of a group that participate in a collective operation; `part` stores them. This process need not be one.
const group& in_scope(const char* function, const context& c, const group& g, int scope, group& part) {
  if (scope < SCOPE_ALL || scope > SCOPE_MASTERS)
    misuse(function, "scope = " + std::to_string(scope) + ", but must be SCOPE_ALL, SCOPE_NODE or SCOPE_MASTERS");
  if (scope == SCOPE_ALL) return g;
  part = c.hosts.part(g, scope);
  return part;
}

const group& group_of(const char* function, context& c, ARMCI_Group* g, bool of_world) {
  return of_world ? c.world() : member_of(function, c, g);
}

/// A buffer, its size, and what the size is called.
void check_buffer(const char* function, const void* buffer, int size, const char* name) {
  if (size < 0) misuse(function, std::string(name) + " = " + std::to_string(size) + ", but must be 0 or more");
  if (size > 0 && buffer == nullptr) misuse(function, "the buffer is NULL, but must be an address");
}

void broadcast(const char* function, void* bytes, int len, int root, ARMCI_Group* g, bool of_world, int scope) {
  or_end(function, [&] {
    context& c = running(function);
    group part;
    const group& members = in_scope(function, c, group_of(function, c, g, of_world), scope, part);
    const int member = members.rank_of(root);
    if (members.me < 0 || len == 0) return;
    check_buffer(function, bytes, len, "len");
    if (member < 0)
      misuse(function, "root = " + std::to_string(root) +
                           ", but must be the rank in the world of a member, and within the scope");
    c.all.broadcast(members, member, bytes, static_cast<size_t>(len));
  });
}

void combine(const char* function, int scope, void* x, int n, const char* op, int type, const ARMCI_Group* g,
             bool to_all) {
  or_end(function, [&] {
    context& c = running(function);
    group part;
    const group& members = in_scope(function, c, g == nullptr ? c.world() : member_of(function, c, g), scope, part);
    const auto how = find_combination(operator_of(op), type);
    if (!how)
      misuse(function, std::string("op = \"") + (op == nullptr ? "" : op) + "\", type = " + std::to_string(type) +
                           ": unknown, or not for each other");
    check_buffer(function, x, n, "n");
    if (n > 0 && members.me >= 0) c.all.reduce(members, x, static_cast<size_t>(n), *how, to_all);
  });
}

/// Ends the job without a group, for which combine() takes the world.
void combine_in_group(const char* function, int scope, void* x, int n, const char* op, int type, const ARMCI_Group* g) {
  member_of(function, running(function), g);
  combine(function, scope, x, n, op, type, g, true);
}

void select(const char* function, int scope, void* x, int n, const char* op, int type, int contribute) {
  or_end(function, [&] {
    context& c = running(function);
    const std::string_view name = operator_of(op);
    const size_t element = size_of_type(type);
    if ((name != "max" && name != "min") || element == 0 || n < static_cast<int>(element))
      misuse(function,
             "op must be \"max\" or \"min\", type one of ARMCI_INT to ARMCI_DOUBLE, and n the bytes of a record "
             "that begins with such an element");
    group part;
    const group& members = in_scope(function, c, c.world(), scope, part);
    if (members.me < 0) return;
    check_buffer(function, x, n, "n");
    const auto size = static_cast<size_t>(n);
    // A record and whether it counts; the first of equal ones wins, everywhere the same.
    std::vector<char> mine(size + 1), all(static_cast<size_t>(members.size()) * (size + 1));
    std::memcpy(mine.data(), x, size);
    mine[size] = contribute != 0 ? 1 : 0;
    c.all.gather_all(members, mine.data(), all.data(), size + 1);
    const char* best = nullptr;
    for (int r = 0; r < members.size(); ++r) {
      const char* one = all.data() + static_cast<size_t>(r) * (size + 1);
      if (one[size] == 0) continue;
      const int order = best == nullptr ? 0 : compare(type, one, best);
      if (best == nullptr || (name == "max" ? order > 0 : order < 0)) best = one;
    }
    if (best != nullptr) std::memcpy(x, best, size);
  });
}

void send(int tag, void* buffer, int len, int to) {
  or_end("armci_msg_snd", [&] {
    context& c = running("armci_msg_snd");
    check_proc("armci_msg_snd", c, to);
    check_buffer("armci_msg_snd", buffer, len, "len");
    c.messages.send(to, static_cast<uint32_t>(tag), buffer, static_cast<size_t>(len));
  });
}

int receive(const char* function, int tag, void* buffer, int buflen, int* msglen, int from) {
  return or_end(function, [&] {
    context& c = running(function);
    check_buffer(function, buffer, buflen, "buflen");
    int source = -1;
    const size_t size =
        c.messages.receive(from, static_cast<uint32_t>(tag), buffer, static_cast<size_t>(buflen), &source);
    if (size > static_cast<size_t>(buflen))
      misuse(function, "the message of process " + std::to_string(source) + " has " + std::to_string(size) +
                           " bytes, the buffer only " + std::to_string(buflen));
    if (msglen != nullptr) *msglen = static_cast<int>(size);
    return source;
  });
}

lci::detail::job_place job(const char* function) {
  return or_end(function, [] { return lci::detail::join_job(); });
}

void barrier(const char* function, const ARMCI_Group* g, bool of_world) {
  or_end(function, [&] {
    if (of_world && the_context == nullptr) {
      lci::detail::join_job();
      lci::detail::fence_of_job();
      return;
    }
    context& c = running(function);
    c.all.barrier(of_world ? c.world() : member_of(function, c, g));
  });
}

void exchange(const char* function, void** addresses, int n, const ARMCI_Group* g) {
  static_assert(sizeof(void*) == sizeof(long));
  char plus[] = "+";
  combine(function, SCOPE_ALL, addresses, n, plus, ARMCI_LONG, g, true);
}

}  // namespace

extern "C" {

// Programs ask for their rank, and meet, before they start ARMCI.
void armci_msg_init(int*, char***) { job("armci_msg_init"); }
void armci_msg_finalize(void) {}
int armci_msg_me(void) { return the_context != nullptr ? the_context->me() : job("armci_msg_me").rank; }
int armci_msg_nproc(void) { return the_context != nullptr ? the_context->size() : job("armci_msg_nproc").size; }
void armci_msg_abort(int code) { abort_job("armci_msg_abort", code); }
double armci_timer(void) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void armci_msg_snd(int tag, void* buffer, int len, int to) { send(tag, buffer, len, to); }
void armci_msg_rcv(int tag, void* buffer, int buflen, int* msglen, int from) {
  check_proc("armci_msg_rcv", running("armci_msg_rcv"), from);
  receive("armci_msg_rcv", tag, buffer, buflen, msglen, from);
}
int armci_msg_rcvany(int tag, void* buffer, int buflen, int* msglen) {
  return receive("armci_msg_rcvany", tag, buffer, buflen, msglen, -1);
}

void parmci_msg_barrier(void) { barrier("armci_msg_barrier", nullptr, true); }
decltype(parmci_msg_barrier) armci_msg_barrier __attribute__((weak, alias("parmci_msg_barrier")));
void parmci_msg_group_barrier(ARMCI_Group* g) { barrier("armci_msg_group_barrier", g, false); }
decltype(parmci_msg_group_barrier) armci_msg_group_barrier __attribute__((weak, alias("parmci_msg_group_barrier")));

void armci_msg_bcast(void* x, int len, int root) {
  broadcast("armci_msg_bcast", x, len, root, nullptr, true, SCOPE_ALL);
}
void armci_msg_brdcst(void* x, int len, int root) {
  broadcast("armci_msg_brdcst", x, len, root, nullptr, true, SCOPE_ALL);
}
void armci_msg_bcast_scope(int scope, void* x, int len, int root) {
  broadcast("armci_msg_bcast_scope", x, len, root, nullptr, true, scope);
}
void armci_msg_group_bcast_scope(int scope, void* x, int len, int root, ARMCI_Group* g) {
  broadcast("armci_msg_group_bcast_scope", x, len, root, g, false, scope);
}
void armci_msg_clus_brdcst(void* x, int len) {
  const domains& d = running("armci_msg_clus_brdcst").hosts;
  broadcast("armci_msg_clus_brdcst", x, len, d.members(d.mine()).front(), nullptr, true, SCOPE_NODE);
}
void armci_grp_clus_brdcst(void* x, int len, int master, int, ARMCI_Group* g) {
  broadcast("armci_grp_clus_brdcst", x, len, master, g, g == nullptr, SCOPE_NODE);
}

void armci_msg_gop_scope(int scope, void* x, int n, char* op, int type) {
  combine("armci_msg_gop_scope", scope, x, n, op, type, nullptr, true);
}
void armci_msg_igop(int* x, int n, char* op) {
  combine("armci_msg_igop", SCOPE_ALL, x, n, op, ARMCI_INT, nullptr, true);
}
void armci_msg_lgop(long* x, int n, char* op) {
  combine("armci_msg_lgop", SCOPE_ALL, x, n, op, ARMCI_LONG, nullptr, true);
}
void armci_msg_llgop(long long* x, int n, char* op) {
  combine("armci_msg_llgop", SCOPE_ALL, x, n, op, ARMCI_LONG_LONG, nullptr, true);
}
void armci_msg_fgop(float* x, int n, char* op) {
  combine("armci_msg_fgop", SCOPE_ALL, x, n, op, ARMCI_FLOAT, nullptr, true);
}
void armci_msg_dgop(double* x, int n, char* op) {
  combine("armci_msg_dgop", SCOPE_ALL, x, n, op, ARMCI_DOUBLE, nullptr, true);
}
void armci_msg_group_gop_scope(int scope, void* x, int n, char* op, int type, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_gop_scope", scope, x, n, op, type, g);
}
void armci_msg_group_igop(int* x, int n, char* op, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_igop", SCOPE_ALL, x, n, op, ARMCI_INT, g);
}
void armci_msg_group_lgop(long* x, int n, char* op, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_lgop", SCOPE_ALL, x, n, op, ARMCI_LONG, g);
}
void armci_msg_group_llgop(long long* x, int n, char* op, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_llgop", SCOPE_ALL, x, n, op, ARMCI_LONG_LONG, g);
}
void armci_msg_group_fgop(float* x, int n, char* op, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_fgop", SCOPE_ALL, x, n, op, ARMCI_FLOAT, g);
}
void armci_msg_group_dgop(double* x, int n, char* op, ARMCI_Group* g) {
  combine_in_group("armci_msg_group_dgop", SCOPE_ALL, x, n, op, ARMCI_DOUBLE, g);
}
void armci_msg_clus_igop(int* x, int n, char* op) {
  combine("armci_msg_clus_igop", SCOPE_NODE, x, n, op, ARMCI_INT, nullptr, true);
}
void armci_msg_clus_lgop(long* x, int n, char* op) {
  combine("armci_msg_clus_lgop", SCOPE_NODE, x, n, op, ARMCI_LONG, nullptr, true);
}
void armci_msg_clus_llgop(long long* x, int n, char* op) {
  combine("armci_msg_clus_llgop", SCOPE_NODE, x, n, op, ARMCI_LONG_LONG, nullptr, true);
}
void armci_msg_clus_fgop(float* x, int n, char* op) {
  combine("armci_msg_clus_fgop", SCOPE_NODE, x, n, op, ARMCI_FLOAT, nullptr, true);
}
void armci_msg_clus_dgop(double* x, int n, char* op) {
  combine("armci_msg_clus_dgop", SCOPE_NODE, x, n, op, ARMCI_DOUBLE, nullptr, true);
}

void armci_msg_reduce(void* x, int n, char* op, int type) {
  combine("armci_msg_reduce", SCOPE_ALL, x, n, op, type, nullptr, false);
}
void armci_msg_reduce_scope(int scope, void* x, int n, char* op, int type) {
  combine("armci_msg_reduce_scope", scope, x, n, op, type, nullptr, false);
}
void armci_msg_sel_scope(int scope, void* x, int n, char* op, int type, int contribute) {
  select("armci_msg_sel_scope", scope, x, n, op, type, contribute);
}
void armci_msg_sel(void* x, int n, char* op, int type, int contribute) {
  select("armci_msg_sel", SCOPE_ALL, x, n, op, type, contribute);
}

void armci_msg_bintree(int scope, int* root, int* up, int* left, int* right) {
  const context& c = running("armci_msg_bintree");
  group part;
  const group& members = in_scope("armci_msg_bintree", c, c.world(), scope, part);
  const auto process = [&](int i) { return i < members.size() ? members.members[static_cast<size_t>(i)] : -1; };
  const int me = members.me;
  if (root == nullptr || up == nullptr || left == nullptr || right == nullptr)
    misuse("armci_msg_bintree", "root, up, left or right is NULL, but must be an address");
  *root = process(0);
  *up = me <= 0 ? -1 : process((me - 1) / 2);
  *left = me < 0 ? -1 : process(2 * me + 1);
  *right = me < 0 ? -1 : process(2 * me + 2);
}

void armci_exchange_address(void* addresses[], int n) { exchange("armci_exchange_address", addresses, n, nullptr); }
void armci_exchange_address_grp(void* addresses[], int n, ARMCI_Group* g) {
  exchange("armci_exchange_address_grp", addresses, n, g);
}

}  // extern "C"
