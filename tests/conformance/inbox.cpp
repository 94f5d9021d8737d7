#include "tests/conformance/inbox.hpp"

#include <array>
#include <cstdlib>

namespace conf {
namespace {

constexpr int max_ranks = 64;
std::array<std::atomic<inbox*>, max_ranks> handler_inbox;  // by rank, since ranks may share a process

void handle(lci::status_t status) {
  const auto rank = static_cast<size_t>(rank_env::mine().rank);
  handler_inbox[rank].load(std::memory_order_acquire)->arrived(status);
}

void handle_message(void* context, int rank, const void* data, size_t size, lci::tag_t tag) {
  lci::status_t s(lci::errorcode_t::done);
  s.rank = rank;
  s.buffer = const_cast<void*>(data);
  s.size = size;
  s.tag = tag;
  static_cast<inbox*>(context)->arrived(s);
}

bool is_handler(inbox_kind k) {
  return k == inbox_kind::handler || k == inbox_kind::in_place_handler || k == inbox_kind::packet_handler;
}

}  // namespace

struct inbox::custom_comp : lci::comp_impl_t {
  custom_comp(inbox& owner, bool in_place) : box(owner) { attr.am_in_place = in_place; }
  void signal(lci::status_t status) override { box.arrived(status); }
  inbox& box;
};

const std::vector<inbox_kind>& all_inbox_kinds() {
  using k = inbox_kind;
  static const std::vector<inbox_kind> all{k::handler,     k::in_place_handler, k::packet_handler, k::queue_lcrq,
                                           k::queue_array, k::packet_queue,     k::sync_one,       k::sync_many,
                                           k::counter,     k::custom,           k::in_place_custom};
  return all;
}

const std::vector<inbox_kind>& all_target_kinds() {
  static const std::vector<inbox_kind> all = [] {
    std::vector<inbox_kind> kinds = all_inbox_kinds();
    kinds.push_back(inbox_kind::am_handler);
    return kinds;
  }();
  return all;
}

const char* name_of(inbox_kind kind) {
  static const char* const names[] = {"handler",
                                      "in-place handler",
                                      "handler of active messages",
                                      "handler with packets",
                                      "LCRQ queue",
                                      "array queue",
                                      "queue with packets",
                                      "synchronizer of one",
                                      "synchronizer of many",
                                      "counter",
                                      "user's own object",
                                      "user's own object, in place"};
  return names[static_cast<size_t>(kind)];
}

inbox::inbox(rank_env& env, inbox_kind kind, int expected, bool with_payload)
    : env_(env), kind_(kind), expected_(static_cast<size_t>(expected)), with_payload_(with_payload) {
  using k = inbox_kind;
  const auto rt = env.rt;
  if (is_handler(kind)) handler_inbox[static_cast<size_t>(env.rank)].store(this, std::memory_order_release);
  switch (kind) {
    case k::handler:
      comp_ = lci::alloc_handler_x(handle).runtime(rt)();
      break;
    case k::in_place_handler:
      comp_ = lci::alloc_handler_x(handle).am_in_place(true).runtime(rt)();
      break;
    case k::am_handler:
      comp_ = lci::alloc_am_handler_x(handle_message).user_context(this).runtime(rt)();
      break;
    case k::packet_handler:
      comp_ = lci::alloc_handler_x(handle).zero_copy_am(true).runtime(rt)();
      break;
    case k::queue_lcrq:
      comp_ = lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::lcrq).runtime(rt)();
      break;
    case k::queue_array:
      comp_ = lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::array_atomic).runtime(rt)();
      break;
    case k::packet_queue:
      comp_ = lci::alloc_cq_x().zero_copy_am(true).runtime(rt)();
      break;
    case k::sync_one:
      comp_ = lci::alloc_sync_x().runtime(rt)();
      break;
    case k::sync_many:
      comp_ = lci::alloc_sync_x().threshold(expected).runtime(rt)();
      break;
    case k::counter:
      comp_ = lci::alloc_counter_x().runtime(rt)();
      break;
    case k::custom:
    case k::in_place_custom:
      custom_ = std::make_unique<custom_comp>(*this, kind == k::in_place_custom);
      comp_ = lci::comp_t(custom_.get());
      break;
  }
  rcomp_ = lci::register_rcomp_x(comp_).runtime(rt)();
}

inbox::~inbox() {
  lci::deregister_rcomp_x(rcomp_).runtime(env_.rt)();
  if (!custom_) lci::free_comp_x(&comp_).runtime(env_.rt)();
  if (is_handler(kind_)) handler_inbox[static_cast<size_t>(env_.rank)].store(nullptr, std::memory_order_release);
}

arrival inbox::take(lci::status_t status) {
  arrival a{status, {}};
  if (!with_payload_) return a;
  if (status.size > 0) a.data.assign(static_cast<const char*>(status.buffer), status.size);
  using k = inbox_kind;
  if (kind_ == k::packet_handler || kind_ == k::packet_queue)
    lci::put_upacket_x(status.buffer).runtime(env_.rt)();
  else if (kind_ != k::in_place_handler && kind_ != k::am_handler && kind_ != k::in_place_custom)
    std::free(status.buffer);
  return a;
}

void inbox::arrived(lci::status_t status) {
  arrival a = take(status);
  std::lock_guard lock(mutex_);
  arrivals_.push_back(std::move(a));
}

bool inbox::poll() {
  using k = inbox_kind;
  switch (kind_) {
    case k::queue_lcrq:
    case k::queue_array:
    case k::packet_queue:
      for (;;) {
        const lci::status_t s = lci::cq_pop_x(comp_).runtime(env_.rt)();
        if (!s.is_done()) break;
        arrived(s);
      }
      break;
    case k::sync_one: {
      lci::status_t s;
      if (lci::sync_test_x(comp_, &s).runtime(env_.rt)()) arrived(s);
      break;
    }
    case k::sync_many: {
      std::vector<lci::status_t> all(expected_);
      if (lci::sync_test_x(comp_, all.data()).runtime(env_.rt)())
        for (const auto& s : all) arrived(s);
      break;
    }
    case k::counter:
      return lci::counter_get_x(comp_).runtime(env_.rt)() >= counted_ + static_cast<int64_t>(expected_);
    default:
      break;
  }
  std::lock_guard lock(mutex_);
  return arrivals_.size() >= expected_;
}

std::vector<arrival> inbox::collect() {
  env_.until(name_of(kind_), [&] {
    env_.progress_all();
    return poll();
  });
  counted_ += static_cast<int64_t>(expected_);
  if (kind_ == inbox_kind::counter) return std::vector<arrival>(expected_);
  std::lock_guard lock(mutex_);
  std::vector<arrival> round(std::make_move_iterator(arrivals_.begin()),
                             std::make_move_iterator(arrivals_.begin() + static_cast<std::ptrdiff_t>(expected_)));
  arrivals_.erase(arrivals_.begin(), arrivals_.begin() + static_cast<std::ptrdiff_t>(expected_));
  return round;
}

bool inbox::empty() {
  if (kind_ == inbox_kind::counter) return lci::counter_get_x(comp_).runtime(env_.rt)() == counted_;
  poll();
  std::lock_guard lock(mutex_);
  return arrivals_.empty();
}

}  // namespace conf
