// Domains: which processes share memory, at the same addresses.
#pragma once

#include <vector>

#include "lib/layers/armci/groups.hpp"
#include "lib/layers/armci/memory.hpp"

namespace armci_layer {

/// The domains of all processes. Immutable, and equal in all processes.
///
/// Each host is a domain if its processes can load from and store to each other's memory of ARMCI_Malloc(), and if all
/// hosts have the same number of processes, with successive ranks: programs compute ranks from that. Otherwise each
/// process is a domain.
class domains {
 public:
  /// Collective.
  domains(link& l, const memory& m);

  int count() const { return static_cast<int>(members_.size()); }
  /// -1 if there is no such process.
  int of(int proc) const;
  int mine() const { return mine_; }
  /// The ranks of a domain, ascending. Empty if there is no such domain.
  const std::vector<int>& members(int id) const;
  /// Selects members of a group: with SCOPE_NODE those in this process's domain, with SCOPE_MASTERS the first one of
  /// each domain.
  group part(const group& g, int scope) const;

 private:
  std::vector<int> of_;  // the domain of each rank
  std::vector<std::vector<int>> members_;
  int mine_ = 0;
};

}  // namespace armci_layer
