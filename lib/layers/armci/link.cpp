#include "lib/layers/armci/link.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "lib/base/copy_large.hpp"
#include "lib/layers/armci/errors.hpp"
#include "lib/layers/common/room_in_lanes.hpp"

namespace armci_layer {

namespace {
/// Between hosts, all data goes in packets: over TCP larger ones than the core's are twice as fast. Over libfabric they
/// would exceed what its providers send at once.
constexpr size_t least_packet = size_t{32} << 10;
size_t least_packet_of(lci::attr_backend_t between_hosts) {
  return between_hosts == lci::attr_backend_t::ofi ? 0 : least_packet;
}

lci::runtime_t allocate_runtime() {
  const layers::room_in_lanes room(least_packet);
  return lci::alloc_runtime_x().name("armci").alloc_default_device(false).alloc_default_packet_pool(false)();
}

}  // namespace

struct link::slot final : lci::comp_impl_t {
  slot(receiver& r, box b, lci::runtime_t rt) : receive(r), which(b) {
    attr.am_in_place = true;
    number = lci::register_rcomp_x(lci::comp_t(this)).runtime(rt)();
  }
  void signal(lci::status_t s) override { receive(which, s.rank, static_cast<const std::byte*>(s.buffer), s.size); }
  receiver receive;
  const box which;
  lci::rcomp_t number;
};

packet::~packet() {
  if (memory_ != nullptr) lci::put_upacket_x(memory_).runtime(link_->runtime_)();
}
size_t packet::room() const { return link_->packet_size_ - size_; }

link::link(receiver receive) {
  // The other processes wait, so a step that fails for want of memory is repeated, but not one that exchanges addresses
  // with them: they may have gone on.
  const auto need = [](auto call) { return insist([&] { return call(); }); };
  try {
    runtime_ = allocate_runtime();
    lci::large_copy::set_rule(static_cast<lci::copy_rule>(runtime_.get_attr_copy_way()));
    me_ = lci::get_rank_me_x().runtime(runtime_)();
    size_ = lci::get_rank_n_x().runtime(runtime_)();
    const lci::attr_backend_t between_hosts = lci::get_default_net_context_x().runtime(runtime_)().get_attr_backend();
    // Over TCP the network would idle while the caller waits for the put's completion. It sends messages meanwhile.
    puts_directly_ = between_hosts != lci::attr_backend_t::tcp && between_hosts != lci::attr_backend_t::shm;
    auto pool = lci::alloc_packet_pool_x();
    pool.packet_size(std::max(pool.args().attr.packet_size, least_packet_of(between_hosts))).runtime(runtime_);
    pool_ = need([&] { return pool(); });
    failed_ = need([&] { return std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(size_)); });
    device_ = lci::alloc_device_x().packet_pool(pool_).runtime(runtime_)();
    keeps_puts_in_order_ = device_.get_attr_ordered_puts();
    puts_directly_if_early_ = keeps_puts_in_order_ && between_hosts != lci::attr_backend_t::shm;
    packet_size_ = lci::get_max_bcopy_size_x().packet_pool(pool_).runtime(runtime_)();
    requests_ = need([&] { return lci::alloc_stream_x().name("armci requests").runtime(runtime_)(); });
    messages_ = need([&] { return lci::alloc_stream_x().name("armci messages").runtime(runtime_)(); });
    events_ = need([&] { return lci::alloc_counter_x().runtime(runtime_)(); });
    // In the same order everywhere, so that all have the same numbers.
    for (const box b : {box::requests, box::answers, box::inbox})
      slots_[static_cast<int>(b)] = need([&] { return std::make_unique<slot>(receive, b, runtime_); });
  } catch (...) {
    release();
    throw;
  }
}

link::~link() { release(); }

void link::release() noexcept {
  try {
    // Nobody sends any more: ends are collective, after a barrier.
    if (!background_.is_empty()) lci::free_progress_thread_x(&background_).runtime(runtime_)();
    if (!requests_.is_empty()) lci::free_stream_x(&requests_).runtime(runtime_)();
    if (!messages_.is_empty()) lci::free_stream_x(&messages_).runtime(runtime_)();
    if (!events_.is_empty()) lci::free_comp_x(&events_).runtime(runtime_)();
    for (auto& s : slots_)
      if (s != nullptr) lci::deregister_rcomp_x(s->number).runtime(runtime_)();
    if (!device_.is_empty()) lci::free_device_x(&device_).runtime(runtime_)();
    if (!pool_.is_empty()) lci::free_packet_pool_x(&pool_).runtime(runtime_)();
    if (!runtime_.is_empty()) lci::free_runtime(&runtime_);
  } catch (const std::exception& e) {
    say("ARMCI_Finalize", e.what());
  }
}

void link::serve_in_background() {
  background_ =
      lci::alloc_progress_thread_x().progress_mode(lci::progress_mode_t::event).device(device_).runtime(runtime_)();
}

lci::rcomp_t link::number_of(box to) const { return slots_[static_cast<int>(to)]->number; }

packet link::new_packet() {
  packet p;
  p.link_ = this;
  while ((p.memory_ = static_cast<std::byte*>(lci::get_upacket_x().packet_pool(pool_).runtime(runtime_)())) == nullptr)
    progress();
  return p;
}

void link::send(int rank, box to, packet&& p, bool from_receiver) {
  if (LCI_UNLIKELY(has_failed(rank))) throw_failed(rank);
  auto post =
      lci::post_am_x(rank, p.memory_, p.size_, lci::COMP_NULL_RETRY, number_of(to)).device(device_).runtime(runtime_);
  if (to != box::answers) post = post.stream(to == box::requests ? requests_ : messages_);
  if (from_receiver) post = post.local_comp(lci::COMP_NULL).allow_retry(false);
  try {
    while (post().is_retry()) {
      progress();
      if (LCI_UNLIKELY(has_failed(rank))) throw_failed(rank);
    }
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
    throw_failed(rank);
  }
  p.memory_ = nullptr;  // the post has given it back
}

template <class Post>
void link::post_until_taken(int rank, const Post& post) {
  if (LCI_UNLIKELY(has_failed(rank))) throw_failed(rank);
  try {
    while (post().is_retry()) {
      progress();
      if (LCI_UNLIKELY(has_failed(rank))) throw_failed(rank);
    }
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
    throw_failed(rank);
  }
}

void link::get(int rank, void* to, const lci::layout_t* to_layout, size_t size, lci::rmr_t key, uint64_t offset,
               const lci::layout_t* from_layout, lci::comp_t end, void* context) {
  post_until_taken(rank, lci::post_get_x(rank, to, size, end, offset, key)
                             .layout(to_layout)
                             .remote_layout(from_layout)
                             .user_context(context)
                             .allow_done(false)
                             .device(device_)
                             .runtime(runtime_));
}

void link::put(int rank, const void* from, const lci::layout_t* from_layout, size_t size, lci::rmr_t key,
               uint64_t offset, const lci::layout_t* to_layout, lci::comp_t end, void* context) {
  post_until_taken(rank, lci::post_put_x(rank, from, size, end, offset, key)
                             .layout(from_layout)
                             .remote_layout(to_layout)
                             .comp_semantic(lci::comp_semantic_t::remote)
                             .ordered(keeps_puts_in_order_)
                             .user_context(context)
                             .allow_done(false)
                             .device(device_)
                             .runtime(runtime_));
}

void link::send_long(int rank, const void* head, size_t head_size, const void* body, size_t size) {
  if (LCI_UNLIKELY(has_failed(rank))) throw_failed(rank);
  const lci::layout_segment_t parts[] = {{reinterpret_cast<size_t>(head), head_size},
                                         {reinterpret_cast<size_t>(body), size}};
  const lci::layout_t both = lci::layout_t::iovec(parts, size == 0 ? 1 : 2);
  try {
    lci::post_am_x(rank, nullptr, both.size(), lci::COMP_NULL, number_of(box::inbox))
        .layout(&both)
        .stream(messages_)
        .device(device_)
        .runtime(runtime_)();
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
    throw_failed(rank);
  }
}

bool link::progress() noexcept {
  try {
    return lci::progress_x().device(device_).runtime(runtime_)().is_done();
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
  } catch (const std::exception& e) {
    say("progress", e.what());
  }
  return false;
}

void link::something_happened() {
  lci::comp_signal_x(events_, lci::status_t(lci::errorcode_t::done)).runtime(runtime_)();
}

bool link::sleep(const std::function<bool()>& ready, double seconds) {
  const int64_t seen = lci::counter_get_x(events_).runtime(runtime_)();
  if (ready()) return true;
  try {
    // The time-out is for conditions that others change without a message.
    return lci::counter_wait_for_x(events_, seen + 1, seconds).device(device_).runtime(runtime_)();
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
  } catch (const std::exception& e) {
    say("progress", e.what());
  }
  return true;
}

bool link::probe(int rank, bool from_receiver) {
  if (rank == me_) return false;
  ask(rank, from_receiver);
  return has_failed(rank);
}

void link::ask(int rank, bool from_receiver) noexcept {
  if (rank == me_) return something_happened();
  char nothing = 0;
  auto post = lci::post_am_x(rank, &nothing, 0, lci::COMP_NULL_RETRY, number_of(box::answers))
                  .device(device_)
                  .runtime(runtime_);
  if (from_receiver) post = post.local_comp(lci::COMP_NULL).allow_retry(false);
  try {
    // The tries are few. A process that makes no progress may have no room for a further message; then other messages
    // wait for it, which wake it as well.
    for (int tries = 16; tries > 0 && !has_failed(rank) && post().is_retry(); --tries) progress();
  } catch (const lci::peer_failure_error& e) {
    note_failure(e);
  } catch (const std::exception&) {
    // There is no memory: the next call tries again.
  }
}

void link::note_failure(const lci::peer_failure_error& e) {
  const int rank = e.failed_rank();
  if (rank < 0 || rank >= size_ || failed_[rank].exchange(true, std::memory_order_acq_rel)) return;
  say("progress", e.what());  // the reason, which the errors of operations don't have
  if (on_failure) on_failure(rank);
}

void throw_failed(int rank) {
  throw error(peer_failure,
              "process " + std::to_string(rank) + " has failed: its process ended, or its host is cut off");
}

}  // namespace armci_layer
