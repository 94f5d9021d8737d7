#include "network/routed/context.hpp"

#include "network/routed/device.hpp"

namespace lci::network::routed {

context::context(address_exchange& exchange, std::unique_ptr<network::context> near,
                 std::unique_ptr<network::context> far, size_t ranks_per_host)
    : exchange_(exchange),
      near_(std::move(near)),
      far_(std::move(far)),
      all_far_(ranks_per_host == all_far),
      near_ranks_(static_cast<size_t>(exchange.size())) {
  const auto me = static_cast<size_t>(exchange.rank());
  for (size_t r = 0; r < near_ranks_.size(); ++r) {
    const bool one_host = ranks_per_host == 0 || r / ranks_per_host == me / ranks_per_host;
    near_ranks_[r] = !all_far_ && one_host && near_->reaches(static_cast<int>(r));
  }
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  auto far = far_->create_device(attr, eager_size);
  if (all_far_) return far;
  return std::make_unique<device>(*this, exchange_, near_->create_device(attr, eager_size), std::move(far));
}

}  // namespace lci::network::routed
