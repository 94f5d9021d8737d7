// Groups, and which processes share memory.
#include <algorithm>
#include <vector>

#include "armci/armcix.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

void check_out(const char* function, const ARMCI_Group* out) {
  if (out == nullptr) misuse(function, "group_out is NULL, but must be an address");
}

void create(const char* function, int n, const int* pids, ARMCI_Group* out, const ARMCI_Group* parent) {
  or_end(function, [&] {
    context& c = running(function);
    check_out(function, out);
    const group* const above = c.groups.find(parent);
    if (above == nullptr) misuse(function, "the parent is no group, or was freed");
    if (n < 0 || (n > 0 && pids == nullptr)) misuse(function, "n = " + std::to_string(n) + ", or pids is NULL");
    std::vector<int> members;
    for (int i = 0; i < n; ++i) {
      if (pids[i] < 0 || pids[i] >= above->size())
        misuse(function, "pids[" + std::to_string(i) + "] = " + std::to_string(pids[i]) + ", but must be 0.." +
                             std::to_string(above->size() - 1) + ", a rank in the parent");
      members.push_back(above->members[static_cast<size_t>(pids[i])]);
    }
    std::vector<int> sorted = members;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) misuse(function, "pids has a process twice");
    c.groups.make(members, out);
  });
}

}  // namespace

extern "C" {

void ARMCI_Group_create(int n, int* pids, ARMCI_Group* out) {
  ARMCI_Group parent;
  running("ARMCI_Group_create").groups.get_default(&parent);
  create("ARMCI_Group_create", n, pids, out, &parent);
}
void ARMCI_Group_create_child(int n, int* pids, ARMCI_Group* out, ARMCI_Group* parent) {
  create("ARMCI_Group_create_child", n, pids, out, parent);
}
void ARMCI_Group_free(ARMCI_Group* g) {
  if (the_context != nullptr) the_context->groups.release(g);
}

int ARMCI_Group_rank(ARMCI_Group* g, int* rank) {
  const group* const found = running("ARMCI_Group_rank").groups.find(g);
  const int mine = found == nullptr ? -1 : found->me;
  if (rank != nullptr) *rank = mine;
  return mine < 0 ? 1 : 0;
}
void ARMCI_Group_size(ARMCI_Group* g, int* size) {
  const group* const found = running("ARMCI_Group_size").groups.find(g);
  if (size != nullptr) *size = found == nullptr ? 0 : found->size();
}

void ARMCI_Group_set_default(ARMCI_Group* g) {
  context& c = running("ARMCI_Group_set_default");
  member_of("ARMCI_Group_set_default", c, g);
  c.groups.set_default(g);
}
void ARMCI_Group_get_default(ARMCI_Group* out) {
  context& c = running("ARMCI_Group_get_default");
  check_out("ARMCI_Group_get_default", out);
  c.groups.get_default(out);
}
void ARMCI_Group_get_world(ARMCI_Group* out) {
  context& c = running("ARMCI_Group_get_world");
  check_out("ARMCI_Group_get_world", out);
  c.groups.world(out);
}

int ARMCI_Absolute_id(ARMCI_Group* g, int group_rank) {
  const group* const found = running("ARMCI_Absolute_id").groups.find(g);
  if (found == nullptr || group_rank < 0 || group_rank >= found->size()) return -1;
  return found->members[static_cast<size_t>(group_rank)];
}

int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* out) {
  return or_code("ARMCIX_Group_dup", [&] {
    context& c = running();
    check_out("ARMCIX_Group_dup", out);
    c.groups.make(member_of("ARMCIX_Group_dup", c, parent).members, out);
    return 0;
  });
}

int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* out) {
  return or_code("ARMCIX_Group_split", [&] {
    context& c = running();
    const group& above = member_of("ARMCIX_Group_split", c, parent);
    check_out("ARMCIX_Group_split", out);
    struct choice {
      int color, key, proc;
    };
    const choice mine{color, key, c.me()};
    std::vector<choice> choices;
    std::vector<int> members;
    insist_for_others([&] {
      choices.resize(static_cast<size_t>(above.size()));
      members.reserve(choices.size());
    });
    c.all.gather_all(above, &mine, choices.data(), sizeof mine);
    std::stable_sort(choices.begin(), choices.end(), [](const choice& a, const choice& b) { return a.key < b.key; });
    for (const choice& one : choices)
      if (color >= 0 && one.color == color) members.push_back(one.proc);
    c.groups.make(members, out);
    return 0;
  });
}

int armci_domain_nprocs(armci_domain_t, int id) {
  const domains& d = running("armci_domain_nprocs").hosts;
  return static_cast<int>(d.members(id < 0 ? d.mine() : id).size());
}
int armci_domain_id(armci_domain_t, int proc) { return running("armci_domain_id").hosts.of(proc); }
int armci_domain_glob_proc_id(armci_domain_t, int id, int local) {
  const domains& d = running("armci_domain_glob_proc_id").hosts;
  const std::vector<int>& members = d.members(id < 0 ? d.mine() : id);
  return local < 0 || static_cast<size_t>(local) >= members.size() ? -1 : members[static_cast<size_t>(local)];
}
int armci_domain_my_id(armci_domain_t) { return running("armci_domain_my_id").hosts.mine(); }
int armci_domain_count(armci_domain_t) { return running("armci_domain_count").hosts.count(); }
int armci_domain_same_id(armci_domain_t, int proc) {
  const domains& d = running("armci_domain_same_id").hosts;
  return d.of(proc) == d.mine() ? 1 : 0;
}
int ARMCI_Same_node(int proc) { return armci_domain_same_id(ARMCI_DOMAIN_SMP, proc); }
int armci_sameclusnode(int proc) { return ARMCI_Same_node(proc); }

}  // extern "C"
