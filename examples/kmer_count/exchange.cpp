#include "exchange.hpp"

#include <cstdio>
#include <cstdlib>

namespace kmer_count {

exchange* exchange::current_ = nullptr;
thread_local worker* exchange::this_worker_ = nullptr;

exchange::exchange(const program_options& options) {
  current_ = this;
  own_devices_ = options.dedicated_devices;
  queues_ = options.comp == delivery::queue;
  lci::g_runtime_init_x().alloc_default_device(!own_devices_)();
  rank_ = lci::get_rank_me();
  nranks_ = lci::get_rank_n();

  // All ranks register in the same order, since they use each other's handles.
  control_comp_ = lci::alloc_handler_x(&exchange::on_control).am_in_place(true)();
  control_rcomp_ = lci::register_rcomp(control_comp_);
  const size_t ncomps = queues_ ? options.threads : 1;
  for (size_t i = 0; i < ncomps; ++i) {
    batch_comps_.push_back(queues_ ? lci::alloc_cq() : lci::alloc_handler_x(&exchange::on_batch).am_in_place(true)());
    batch_rcomps_.push_back(lci::register_rcomp(batch_comps_.back()));
  }
  sent_comp_ = lci::alloc_handler(&exchange::on_sent);

  const size_t ndevices = own_devices_ ? options.threads : 1;
  for (size_t i = 0; i < ndevices; ++i) {
    devices_.push_back(own_devices_ ? lci::alloc_device() : lci::get_default_device());
  }

  // A batch slightly larger than a packet would be sent as a large message: make it fit.
  max_eager_ = lci::get_max_bcopy_size();
  size_t size = options.aggregate;
  if (size > max_eager_ && size - max_eager_ < max_eager_ / 32) size = max_eager_;
  batch_capacity_ = size / sizeof(kmer);
}

exchange::~exchange() {
  if (own_devices_) {
    for (auto& d : devices_) lci::free_device(&d);
  }
  for (size_t i = 0; i < batch_comps_.size(); ++i) {
    lci::deregister_rcomp(batch_rcomps_[i]);
    lci::free_comp(&batch_comps_[i]);
  }
  lci::deregister_rcomp(control_rcomp_);
  lci::free_comp(&control_comp_);
  lci::free_comp(&sent_comp_);
  lci::g_runtime_fina();
  current_ = nullptr;
}

void exchange::fail(const char* what) const {
  std::fprintf(stderr, "kmer_count: rank %d: %s\n", rank_, what);
  std::fflush(stderr);
  std::_Exit(1);
}

void exchange::attach(worker& w) { this_worker_ = &w; }

void exchange::send_batch(worker& w, int rank, size_t traversal, batch* b) {
  activity_scope scope(w.clock, activity::send);
  const size_t size = b->byte_size();
  // Counted before the post: the handler may run before it returns.
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  backoff wait;
  lci::status_t status;
  for (;;) {
    status = lci::post_am_x(rank, b->bytes(), size, sent_comp_, batch_target(w))
                 .device(device_of(w))
                 .tag(traversal)
                 .user_context(b)();
    if (!status.is_retry()) break;
    ++w.counters.retries;
    if (!progress(w)) wait.nothing_happened();
  }
  if (status.is_done()) on_sent(status);  // else the handler is signalled
  ++w.counters.messages;
  w.counters.message_bytes += size;
  progress(w);
}

void exchange::send_control(worker& w, int rank, const void* bytes, size_t size) {
  activity_scope scope(w.clock, activity::send);
  backoff wait;
  // COMP_NULL_RETRY never returns `posted`, so the bytes may be reused when the call returns.
  while (lci::post_am_x(rank, bytes, size, lci::COMP_NULL_RETRY, control_rcomp_).device(device_of(w))().is_retry()) {
    ++w.counters.retries;
    if (!progress(w)) wait.nothing_happened();
  }
}

bool exchange::progress(worker& w) {
  const bool moved = progress(w, device_of(w));
  return (queues_ && pop_queue(w, batch_comps_[w.index])) || moved;
}

bool exchange::progress(worker& w, lci::device_t device) {
  ++w.counters.progress_calls;
  return lci::progress_x().device(device)().is_done();
}

bool exchange::progress_all(worker& w) {
  bool moved = false;
  for (auto d : devices_) moved = progress(w, d) || moved;
  return moved;
}

// Limited, so that a thread whose queue is refilled continuously gets to other work.
bool exchange::pop_queue(worker& w, lci::comp_t queue) {
  for (int n = 0; n < 16; ++n) {
    const lci::status_t status = lci::cq_pop(queue);
    if (!status.is_done()) return n > 0;
    receiver_->on_batch(w, status.tag, static_cast<const char*>(status.get_buffer()), status.get_size());
    std::free(status.get_buffer());
  }
  return true;
}

void exchange::finish(worker& w) {
  backoff wait;
  while (in_flight_.load(std::memory_order_acquire) > 0) {  // X1: pairs with X2 in on_sent()
    if (!progress_all(w)) wait.nothing_happened();
  }
  for (auto d : devices_) lci::wait_drained_x().device(d)();
}

void exchange::on_batch(lci::status_t status) {
  current_->receiver_->on_batch(*this_worker_, status.tag, static_cast<const char*>(status.get_buffer()),
                                status.get_size());
}

void exchange::on_control(lci::status_t status) {
  current_->receiver_->on_control(static_cast<const char*>(status.get_buffer()), status.get_size());
}

void exchange::on_sent(lci::status_t status) {
  auto* b = static_cast<batch*>(status.user_context);
  b->pool->give_back(b);
  current_->in_flight_.fetch_sub(1, std::memory_order_release);  // X2: pairs with X1
}

}  // namespace kmer_count
