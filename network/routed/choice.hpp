// Which network leads to other hosts: the best that all ranks can use.
#pragma once

#include <string>

#include "network/fabric.hpp"

namespace lci::network::routed {

/// Each rank offers which networks it can use, and begins with its own best, so that its address there can be
/// offered together with that. Mostly all ranks can use the same.
class choice {
 public:
  /// Offers.
  choice(address_exchange& exchange, const net_context_attr_t& attr);

  /// The best of this rank; null: there is none.
  const fabric* own() const { return own_; }
  /// That of all ranks; reads what they offered. Throws invalid_argument_error if there is none.
  const fabric& of_all();
  /// Whether all have begun with that. After of_all().
  bool is_unanimous() const { return unanimous_; }
  /// Where nobody asks all ranks: throws bootstrap_error unless `rank` has the same best.
  void check(int rank);
  [[noreturn]] void throw_none() const;

 private:
  address_exchange& exchange_;
  address_exchange::ticket offered_;
  std::string mine_;  // a sign for each network between hosts, best first; see sign
  std::string why_;   // they can't
  const fabric* own_ = nullptr;
  bool unanimous_ = true;
};

/// Whether that network leads to other hosts.
bool leads_to_hosts(const fabric& f);

}  // namespace lci::network::routed
