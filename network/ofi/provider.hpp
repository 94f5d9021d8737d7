// Which libfabric provider is used, and what it can do: read from its fi_info, never assumed.
#pragma once

#include <cstdint>
#include <string>

#include "lci/attributes.hpp"
#include "network/common/datagrams.hpp"
#include "network/fabric.hpp"
#include "network/ofi/handles.hpp"

namespace lci::network::ofi {

/// Immutable after construction.
class provider {
 public:
  /// Selects the provider that the attributes ask for, or the best. Throws invalid_argument_error if there is none.
  explicit provider(const net_context_attr_t& attr)
      : provider(attr, {attr.ofi_provider_name, "", "alloc_net_context", "ofi_provider_name"}) {}
  /// As above; the request says which one.
  provider(const net_context_attr_t& attr, const datagram_request& wanted);

  fi_info& info() const { return *info_; }
  /// As libfabric names it, such as "tcp;ofi_rxm".
  std::string name() const { return info_->fabric_attr->prov_name; }
  std::string domain() const { return info_->domain_attr->name; }

  bool needs(uint64_t mr_mode_bit) const { return (mr_mode_ & mr_mode_bit) != 0; }
  /// Returns whether messages carry 32 bits of immediate data; if not, those are appended to the message.
  bool carries_data() const { return carries_data_; }
  /// Returns whether puts carry 64 bits of immediate data to the target.
  bool puts_carry_data() const { return rma_ && carries_data_ && info_->domain_attr->cq_data_size >= 8; }
  /// Returns whether puts and gets are supported: with remote keys that fit in our rkeys, and completion when the data
  /// is in place.
  bool rma() const { return rma_; }
  /// Returns whether several threads must not make calls at once, although the provider says they may: `net` of
  /// libfabric 1.17, an experiment that became `tcp` in 1.18, fails if threads send and poll at once.
  bool one_call_at_a_time() const { return one_call_at_a_time_; }
  /// Returns whether a get completes only when the target polls, as over TCP.
  bool gets_need_polls() const { return is_over_tcp_; }
  /// Returns whether each message that is sent costs a system call.
  bool sends_by_system_calls() const { return is_over_tcp_; }
  bool keeps_order(uint64_t order) const {
    return (info_->tx_attr->msg_order & info_->rx_attr->msg_order & order) == order;
  }

 private:
  owned_info info_;
  uint64_t mr_mode_ = 0;
  bool carries_data_ = false;
  bool rma_ = false;
  bool one_call_at_a_time_ = false;
  bool is_over_tcp_ = false;
};

/// Returns whether there is a provider that may be used without being asked for. Over TCP our own backend is faster: a
/// TCP provider must be asked for, or be the only choice.
usability look(const net_context_attr_t& attr);

}  // namespace lci::network::ofi
