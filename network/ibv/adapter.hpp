// The port of an RDMA card that a runtime uses, and its capabilities.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "lci/attributes.hpp"
#include "lci/errors.hpp"
#include "network/fabric.hpp"
#include "network/ibv/gid.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// A card exists, but a call of libibverbs failed for a reason that may be temporary.
class card_refused_error : public resource_error {
 public:
  using resource_error::resource_error;
};

/// The first active port: of the requested device, or of the first device that has one. Immutable.
class adapter {
 public:
  /// Throws invalid_argument_error or resource_error; the message names the remedy.
  explicit adapter(const net_context_attr_t& attr);

  /// Opens the device again, so that users of different contexts share no objects.
  owned<ibv_context> open() const;

  const char* name() const { return library::get().get_device_name(device_); }
  uint8_t port() const { return port_; }
  const ibv_device_attr& device_attr() const { return device_attr_; }
  const ibv_port_attr& port_attr() const { return port_attr_; }
  const gid_choice& gid() const { return gid_; }
  const ibv_odp_caps& paging() const { return paging_; }

 private:
  void find(const std::string& wanted);
  /// Returns false if none of its ports can be used; `why_not` is set.
  bool use(ibv_context& opened, ibv_device* device, std::string& why_not);

  owned<ibv_device*> list_;
  ibv_device* device_ = nullptr;  // of list_
  uint8_t port_ = 0;              // counts from 1; 0: none
  ibv_device_attr device_attr_{};
  ibv_port_attr port_attr_{};
  gid_choice gid_;
  ibv_odp_caps paging_{};
};

/// Returns whether a usable port exists; if not, why, and the remedy.
usability look();

}  // namespace lci::network::ibv
