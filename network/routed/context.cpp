#include "network/routed/context.hpp"

#include <algorithm>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "network/routed/device.hpp"

namespace lci::network::routed {

namespace {

acquaintance how_to_meet(const address_exchange& exchange, const net_context_attr_t& attr) {
  return static_cast<size_t>(exchange.size()) <= attr.eager_addresses ? acquaintance::all_at_once
                                                                      : acquaintance::when_met;
}

}  // namespace

context::context(address_exchange& exchange, const net_context_attr_t& attr, std::unique_ptr<network::context> near,
                 const fabric& far)
    : exchange_(exchange),
      attr_(attr),
      size_(exchange.size()),
      how_(how_to_meet(exchange, attr)),
      near_(std::move(near)) {
  use(far);
}

context::context(address_exchange& exchange, const net_context_attr_t& attr, std::unique_ptr<network::context> near,
                 bool near_is_settled, choice between)
    : exchange_(exchange),
      attr_(attr),
      size_(exchange.size()),
      how_(how_to_meet(exchange, attr)),
      near_(std::move(near)),
      between_(std::move(between)),
      near_is_settled_(near_is_settled),
      ways_(new std::atomic<way>[static_cast<size_t>(size_)]()) {
  use(*between_->own());
}

void context::use(const fabric& far) {
  far_ = far.create(exchange_, attr_);
  far_id_ = far.id;
}

void context::open() {
  if (!settled_) settle([] { return std::unique_ptr<network::device>(); });
}

template <class F>
std::unique_ptr<network::device> context::settle(F make_far_device) {
  std::unique_ptr<network::device> device = make_far_device();
  exchange_.publish();
  // The other ranks go on from here, so want of memory is waited for.
  if (!near_is_settled_) insist_on_memory([&] { near_->settle(how_); });
  if (between_ && how_ == acquaintance::all_at_once) {
    // The launcher may have reported several hosts where there is only one.
    const fabric* const far = insist_on_memory(
        [&]() -> const fabric* { return !near_is_settled_ && is_one_host() ? nullptr : &between_->of_all(); });
    if (far == nullptr || !between_->is_unanimous()) {
      device.reset();
      far_.reset();
    }
    if (far != nullptr && far_ == nullptr) {
      insist_on_memory([&] { use(*far); });
      device = insist_on_memory(make_far_device);
      insist_on_memory([&] { exchange_.publish(); });
    }
  }
  settled_ = true;
  if (far_ != nullptr) insist_on_memory([&] { far_->settle(how_); });
  return device;
}

bool context::is_one_host() {
  for (int r = 0; r < size_; ++r)
    if (find_way(r) != way::near) return false;
  return true;
}

bool context::may_be_near(int peer) const {
  const auto per_host = static_cast<int>(std::min(attr_.ranks_per_host, static_cast<size_t>(size_)));
  return per_host == 0 || peer / per_host == exchange_.rank() / per_host;
}

context::way context::find_way(int peer) {
  way found = way::far;
  try {
    if (may_be_near(peer) && near_->reaches(peer)) found = way::near;
    if (found == way::far && how_ == acquaintance::when_met) between_->check(peer);
  } catch (const bootstrap_error& error) {
    // The caller may be inside a poll. The far network will not find the peer's address either, and reports that.
    log_warning(error.what());
  }
  ways_[static_cast<size_t>(peer)].store(found, std::memory_order_release);
  return found;
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  const auto make = [&] { return far_ == nullptr ? nullptr : far_->create_device(attr, eager_size); };
  std::unique_ptr<network::device> far;
  if (settled_) {
    try {
      far = make();
      exchange_.publish();
    } catch (...) {
      exchange_.withdraw();
      throw;
    }
  } else {
    far = settle(make);
  }
  if (far == nullptr) return near_->create_device(attr, eager_size);
  // The other ranks have this device from here on, so want of memory is waited for.
  insist_on_memory([&] { far->settle(how_); });
  if (!between_) return far;
  auto near = insist_on_memory([&] { return near_->create_device(attr, eager_size); });
  return insist_on_memory([&] { return std::make_unique<device>(*this, std::move(near), std::move(far)); });
}

}  // namespace lci::network::routed
