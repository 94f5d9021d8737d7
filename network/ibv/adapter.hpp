// The port of a network card that a runtime uses: which one, and what it can do.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "lci/attributes.hpp"
#include "network/ibv/gid.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// The first active port, of the device that is asked for or of the first one that has any. Immutable.
class adapter {
 public:
  /// Throws invalid_argument_error or resource_error, with the remedy.
  explicit adapter(const net_context_attr_t& attr);

  /// The device once more: what is made of one object disturbs nobody who uses another.
  owned<ibv_context> open() const;

  const char* name() const { return library::get().get_device_name(device_); }
  uint8_t port() const { return port_; }
  const ibv_device_attr& device_attr() const { return device_attr_; }
  const ibv_port_attr& port_attr() const { return port_attr_; }
  const gid_choice& gid() const { return gid_; }
  const ibv_odp_caps& paging() const { return paging_; }

 private:
  void find(const std::string& wanted);
  bool use(ibv_context& opened, ibv_device* device);

  owned<ibv_device*> list_;
  ibv_device* device_ = nullptr;  // of list_
  uint8_t port_ = 0;              // from 1; 0: none
  ibv_device_attr device_attr_{};
  ibv_port_attr port_attr_{};
  gid_choice gid_;
  ibv_odp_caps paging_{};
};

/// For lci_info: empty, or why there is no port to use, and the remedy.
std::string why_unusable();

}  // namespace lci::network::ibv
