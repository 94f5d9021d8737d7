#include "network/routed/with_outside.hpp"

#include <exception>
#include <new>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "lib/base/insist_on_memory.hpp"
#include "network/routed/with_outside_device.hpp"

namespace lci::network::routed {

int with_outside::noting_book::admit() {
  const int peer = book_.admit();
  if (peer >= 0) of_.far_id(peer).store(far_, std::memory_order_relaxed);
  return peer;
}

void with_outside::open_to_external_peers(external_peer_book& book) {
  first_ = book.first();
  far_ids_.reset(new std::atomic<bool>[static_cast<size_t>(book.capacity())]());
  near_book_ = std::make_unique<noting_book>(*this, book, false);
  far_book_ = std::make_unique<noting_book>(*this, book, true);
  near_->open_to_external_peers(*near_book_);
  far_->open_to_external_peers(*far_book_);
  far_->set_near_address(near_->own_address());
}

std::unique_ptr<network::device> with_outside::create_device(const device_attr_t& attr, size_t eager_size) {
  // The peers rely on the near device from the time when it exists, so it comes after what may fail.
  auto far = far_->create_outside_device(eager_size);
  auto near = near_->create_device(attr, eager_size);
  return insist_on_memory(
      [&] { return std::make_unique<with_outside_device>(*this, std::move(near), std::move(far)); });
}

std::string with_outside::own_address() {
  const std::string far = far_->own_address();
  return far.empty() ? near_->own_address() : far;
}

int with_outside::connect(const std::string& address) {
  if (far_->knows(address)) return far_->connect(address);
  if (near_->own_address().empty())
    throw_invalid("connect", "net_context", "of backend " + to_string(near_->backend()),
                  "of shared memory for an address other than tcp://HOST:PORT or ofi+PROVIDER://HOST:PORT",
                  "leave LCI_ATTR_BACKEND unset, or set LCI_ATTR_PEER_LISTEN at the peer and use its address");
  return near_->connect(address);
}

contact with_outside::contact_with(int peer) {
  if (!is_far(peer)) return near_->contact_with(peer);
  contact now = far_->contact_with(peer);
  if (now.what != contact::state::moved || now.peer >= 0) return now;
  // The peer is on this host.
  try {
    now.peer = near_->connect(now.near_address);
    return now;
  } catch (const std::exception&) {
    // It is another user's, or in a container with a file system of its own.
  }
  // The attempt no longer owns an id, so what prevents a new one is its result.
  try {
    now.peer = far_->connect_far(now.address);
    return now;
  } catch (const std::bad_alloc&) {
    return {contact::state::gone, "no memory"};
  } catch (const std::exception& e) {
    return {contact::state::gone, e.what()};
  }
}

}  // namespace lci::network::routed
