// Addresses of the peers' endpoints: read for all at start, or for each when something is first sent to it.
#include <algorithm>
#include <cstring>

#include "lci/errors.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

namespace {

/// For an error message: the provider of the rank that has offered this; empty if that rank does not use libfabric.
std::string provider_in(const std::string& offered) {
  const std::string name = offered.substr(0, std::min<size_t>(offered.find('\0'), 64));
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
  return plain ? name : "";
}

}  // namespace

std::string device::own_address() const {
  std::string mine(256, '\0');
  size_t length = mine.size();
  int result = fi_getname(&endpoint_->fid, mine.data(), &length);
  if (result == -FI_ETOOSMALL) {
    mine.resize(length);
    result = fi_getname(&endpoint_->fid, mine.data(), &length);
  }
  check(result, "fi_getname");
  mine.resize(length);
  // Prefixes: the provider's name, as another provider could not parse the address, and the size of our receive
  // buffers.
  const uint64_t longest = eager_size_;
  return provider_.name() + '\0' + std::string(reinterpret_cast<const char*>(&longest), sizeof longest) + mine;
}

void device::settle(acquaintance how) {
  count_device();
  size_t shortest = eager_size_;
  if (how == acquaintance::all_at_once) {
    const std::vector<std::string> all = context_.exchange().read_all(addresses_of_all_);
    for (size_t r = 0; r < all.size(); ++r) shortest = std::min(shortest, take_address(static_cast<int>(r), all[r]));
  }
  set_limits(attr_, shortest);
}

size_t device::take_address(int rank, const std::string& offered) {
  const std::string kind = provider_.name() + '\0';
  if (offered.compare(0, kind.size(), kind) != 0) {
    const std::string theirs = provider_in(offered);
    throw bootstrap_error("ofi: rank " + std::to_string(rank) + " uses " +
                          (theirs.empty() ? "another network" : theirs) + ", but rank " +
                          std::to_string(context_.rank()) + " " + provider_.name() + "; all ranks need the same " +
                          (theirs.empty() ? "LCI_ATTR_BACKEND" : "LCI_ATTR_OFI_PROVIDER_NAME"));
  }
  uint64_t longest = 0;
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  const bool whole = offered.size() > kind.size() + sizeof longest;
  int inserted = 0;
  if (whole) {
    std::memcpy(&longest, offered.data() + kind.size(), sizeof longest);
    inserted = fi_av_insert(addresses_.get(), offered.data() + kind.size() + sizeof longest, 1, &address, 0, nullptr);
    if (inserted == -FI_ENOMEM || inserted == -FI_EAGAIN) throw std::bad_alloc();
    check(inserted, "fi_av_insert of the address of rank " + std::to_string(rank));
  }
  if (inserted != 1)
    throw bootstrap_error("ofi: the address of rank " + std::to_string(rank) +
                          " is not understood; all ranks must run the same version of libfabric");
  peers_[static_cast<size_t>(rank)].address.store(address, std::memory_order_release);  // R1
  return longest;
}

errorcode_t device::learn_address(int rank) {
  const auto is_known = [&] {
    return peers_[static_cast<size_t>(rank)].address.load(std::memory_order_acquire) != FI_ADDR_NOTAVAIL;
  };
  try {
    const std::string offered = context_.exchange().read(addresses_of_all_, rank);
    std::lock_guard guard(learn_lock_);
    if (is_known()) return errorcode_t::done;
    // Another thread may be in a call that sends, and the provider may not allow a second call at the same time.
    std::unique_lock alone(send_lock_, std::defer_lock);
    if (provider_.one_call_at_a_time()) alone.lock();
    const size_t longest = take_address(rank, offered);
    if (longest >= limits_.max_send + trailer_) return errorcode_t::done;
    throw bootstrap_error("ofi: rank " + std::to_string(rank) + " takes messages of " + std::to_string(longest) +
                          " bytes at most, but rank " + std::to_string(context_.rank()) + " sends some of " +
                          std::to_string(limits_.max_send + trailer_) +
                          "; ranks of a large job don't negotiate this; set LCI_ATTR_PACKET_SIZE alike for all, or "
                          "raise LCI_ATTR_EAGER_ADDRESSES");
  } catch (const bootstrap_error& error) {
    warn_and_fail_peer(rank, error.what());
  } catch (const std::bad_alloc&) {
    return errorcode_t::retry_nomem;
  } catch (const resource_error& error) {
    fail_peer(rank, error.what());
  }
  return errorcode_t::fatal;
}

}  // namespace lci::network::ofi
