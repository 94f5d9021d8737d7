// What a network does for peers outside of the job that run on other hosts, beside what every network does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "network/fabric.hpp"

namespace lci::network {

/// A device that serves such peers only. Memory is registered with the device of the job's network, and has its keys.
class outside_device : public device {
 public:
  virtual void adopt_registration(uint64_t rkey, void* base, size_t size) = 0;
  virtual void drop_registration(uint64_t rkey) = 0;
};

/// A context that serves such peers only.
class outside_context : public context {
 public:
  virtual std::unique_ptr<outside_device> create_outside_device(size_t eager_size) = 0;
  std::unique_ptr<device> create_device(const device_attr_t&, size_t eager_size) final {
    return create_outside_device(eager_size);
  }
  /// The address of this runtime in shared memory, for peers of the same host. Empty: none. Called once, before the
  /// first device is made.
  virtual void set_near_address(const std::string& address) = 0;
  /// As connect(), but not by shared memory, although the peer may be on this host.
  virtual int connect_far(const std::string& address) = 0;
  /// False as long as no device has anything to poll.
  virtual bool is_used() const = 0;
  /// Returns whether an address is one of this network.
  virtual bool knows(const std::string& address) const = 0;
};

}  // namespace lci::network
