// The protection domain in which each queue pair is made: by it a queue pair gets its thread domain,
// which is what of the card's registers it shares with others (paper 4.2.3).
#pragma once

#include <vector>

#include "lci/attributes.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// Of one device. Used while that is set up.
class domains {
 public:
  domains(ibv_context& card, ibv_pd& base, attr_ibv_td_strategy_t strategy)
      : card_(card), base_(base), strategy_(strategy) {}

  /// For the next queue pair.
  ibv_pd& next();

  /// 0, or why the provider has made no thread domain; from then on none is asked for.
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
