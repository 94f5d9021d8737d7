#include "lib/layers/ccs/sending.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

/// Bytes of data in a packet. A multiple of the size of every number type, so that no number is split.
constexpr size_t most_data = CCS_MAX_AM_LENGTH;

}  // namespace

sending::sending(process& p, int node, layout from, const wire::data_head& head)
    : of_(p), node_(node), from_(std::move(from)), kind_(wire::kind::data_in), data_(head) {}

sending::sending(process& p, int node, layout from, const wire::reply_head& head)
    : of_(p), node_(node), from_(std::move(from)), kind_(wire::kind::data_reply), reply_(head) {}

sending::~sending() { lci::put_upacket_x(packet_).runtime(of_.runtime)(); }

bool sending::fill() {
  packet_ = static_cast<std::byte*>(lci::get_upacket_x().runtime(of_.runtime).packet_pool(of_.pool)());
  if (packet_ == nullptr) return false;
  packed_ = std::min(from_.size() - sent_, most_data);
  std::byte* data = packet_;
  if (kind_ == wire::kind::data_in) {
    data_.offset = sent_;
    std::memcpy(data, &data_, sizeof data_);
    data += sizeof data_;
  } else {
    reply_.offset = sent_;
    std::memcpy(data, &reply_, sizeof reply_);
    data += sizeof reply_;
  }
  pack(from_.whole(), reinterpret_cast<const void*>(from_.base()), sent_, packed_, data);
  scaling_.apply(data, packed_);
  return true;
}

bool sending::advance() {
  const size_t front = kind_ == wire::kind::data_in ? sizeof data_ : sizeof reply_;
  while (sent_ < from_.size()) {
    if (packet_ == nullptr && !fill()) return false;
    const lci::status_t s = lci::post_am_x(node_, packet_, front + packed_, lci::COMP_NULL_RETRY, of_.to_ccs)
                                .device(of_.device)
                                .packet_pool(of_.pool)
                                .stream(of_.bulk)
                                .tag(static_cast<lci::tag_t>(kind_))();
    if (s.is_retry()) return false;
    packet_ = nullptr;  // the core owns it now
    sent_ += packed_;
  }
  return true;
}

void sending_list::begin(std::unique_ptr<sending> s) {
  if (tls.busy == 0) {
    bool all = false;
    try {
      all = s->advance();
    } catch (...) {
      if (!s->has_begun()) throw;  // otherwise advance() continues
    }
    if (all) {
      if (s->at_end != nullptr) complete(std::move(s->at_end));
      return;
    }
  }
  add(std::move(s));
}

void sending_list::add(std::unique_ptr<sending> s) noexcept {
  std::lock_guard guard(lock_);
  all_.push(std::move(s));
  n_.fetch_add(1, std::memory_order_release);
}

bool sending_list::advance() {
  bool ended = false;
  for (size_t turns = n_.load(std::memory_order_acquire); turns > 0; --turns) {
    std::unique_ptr<sending> s;
    {
      std::lock_guard guard(lock_);
      s = all_.pop();
    }
    if (s == nullptr) return ended;
    if (insist("a transfer", [&] { return s->advance(); })) {
      if (s->at_end != nullptr) complete(std::move(s->at_end));
      s.reset();
      n_.fetch_sub(1, std::memory_order_release);
      ended = true;
      continue;
    }
    std::lock_guard guard(lock_);
    all_.push(std::move(s));
  }
  return ended;
}

}  // namespace ccs
