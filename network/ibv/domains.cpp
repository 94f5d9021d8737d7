#include "network/ibv/domains.hpp"

#include <cerrno>

namespace lci::network::ibv {

ibv_pd& domains::next() {
  const bool wanted =
      strategy_ == attr_ibv_td_strategy_t::per_qp || (strategy_ == attr_ibv_td_strategy_t::all_qp && made_.empty());
  if (wanted && !add()) strategy_ = attr_ibv_td_strategy_t::none;
  return strategy_ == attr_ibv_td_strategy_t::none ? base_ : *made_.back().parent;
}

bool domains::add() {
  domain d;
  ibv_td_init_attr thread{};
  d.thread.reset(ibv_alloc_td(&card_, &thread));
  if (d.thread != nullptr) {
    ibv_parent_domain_init_attr parent{};
    parent.pd = &base_;
    parent.td = d.thread.get();
    d.parent.reset(ibv_alloc_parent_domain(&card_, &parent));
  }
  if (d.parent == nullptr) {
    error_ = errno;
    return false;
  }
  made_.push_back(std::move(d));
  return true;
}

}  // namespace lci::network::ibv
