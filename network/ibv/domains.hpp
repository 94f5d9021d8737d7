// The protection domain of each queue pair: it determines the queue pair's thread domain, that is, with which others it
// shares registers of the card (paper 4.2.3).
#pragma once

#include <vector>

#include "lci/attributes.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// Owned by one device; used only during its setup. Not thread-safe.
class domains {
 public:
  domains(ibv_context& card, ibv_pd& base, attr_ibv_td_strategy_t strategy)
      : card_(card), base_(base), strategy_(strategy) {}

  /// The protection domain for the next queue pair.
  ibv_pd& next();

  /// 0, or the error if the provider could not make a thread domain; after that no more are requested.
  int error() const { return error_; }

 private:
  bool add();

  struct domain {
    owned<ibv_td> thread;
    owned<ibv_pd> parent;
  };
  ibv_context& card_;
  ibv_pd& base_;
  attr_ibv_td_strategy_t strategy_;
  int error_ = 0;
  std::vector<domain> made_;
};

}  // namespace lci::network::ibv
