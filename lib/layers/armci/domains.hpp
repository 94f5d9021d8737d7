// Domains: which processes share memory, at the same addresses.
#pragma once

#include <vector>

#include "lib/layers/armci/groups.hpp"
#include "lib/layers/armci/memory.hpp"

namespace armci_layer {

/// The domains of all processes, the same at all. Each host is a domain, if its processes can load and store what
/// ARMCI_Malloc has returned of each other's, and if programs can compute with domains as they do elsewhere: all have as
/// many processes, with successive ranks. Otherwise each process is one. Immutable.
class domains {
 public:
  /// Collective.
  domains(link& l, const memory& m);

  int count() const { return static_cast<int>(members_.size()); }
  /// -1 if there is no such process.
  int of(int proc) const;
  int mine() const { return mine_; }
  /// The ranks of a domain, ascending; of one that does not exist, none.
  const std::vector<int>& members(int id) const;
  /// A part of a group: with SCOPE_NODE the members in this process's domain, with SCOPE_MASTERS the first of each domain.
  group part(const group& g, int scope) const;

 private:
  std::vector<int> of_;  // by rank
  std::vector<std::vector<int>> members_;
  int mine_ = 0;
};

}  // namespace armci_layer
