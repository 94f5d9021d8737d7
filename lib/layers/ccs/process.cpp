#include "lib/layers/ccs/process.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "lib/base/copy_large.hpp"
#include "lib/layers/ccs/messages.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/common/alone_in_job.hpp"
#include "lib/layers/common/room_in_lanes.hpp"

namespace ccs {

std::atomic<process*> the_process{nullptr};

void refuse_without_process(const char* function) noexcept {
  (void)refuse(function, "CCS is not initialized: call CCS_init() first, and CCS_finalize() last");
}

bool refuse_node(const process& p, const char* function, const char* argument, CCS_node_t node) noexcept {
  (void)refuse(function, "%s = %u, but nodes are numbered from 0 to %d", argument, node, p.size - 1);
  return false;
}

namespace {

std::atomic<uint64_t> generations{0};

/// Bytes of a packet beyond CCS_MAX_AM_LENGTH, for arguments. So the largest message fits in a packet, and no message
/// needs a rendezvous.
constexpr size_t room_for_arguments = 512;
/// CCS_finalize() says what it waits for after this time. Handlers that answer CCS_AGAIN for a moment accept the
/// message much earlier, and a user who watches the program does not wait longer for the reason.
constexpr std::chrono::seconds patience{5};

size_t threshold_from_environment() {
  size_t bytes = size_t{256} << 20;
  const char* const text = std::getenv("CCS_REG_CACHE_BYTES");
  if (text == nullptr) return bytes;
  const char* const end = text + std::strlen(text);
  size_t given = 0;
  const auto [rest, error] = std::from_chars(text, end, given);
  if (error == std::errc() && rest == end && rest != text) return given;
  (void)refuse("CCS_init", "CCS_REG_CACHE_BYTES=%s is no number of bytes; %zu is used", text, bytes);
  return bytes;
}

constexpr size_t size_of_packets = CCS_MAX_AM_LENGTH + room_for_arguments;

lci::runtime_t allocate_runtime() {
  const layers::room_in_lanes room(size_of_packets);
  return lci::alloc_runtime_x().name("ccs").alloc_default_device(false).alloc_default_packet_pool(false)();
}

/// Frees the memory of a message that was sent by rendezvous.
class releases_body : public lci::comp_impl_t {
 public:
  void signal(lci::status_t s) override {
    delete[] static_cast<std::byte*>(s.user_context);
    if (!s.is_done()) fail("a message", "node %d has failed, or has no memory for it (%s)", s.rank, s.error.get_str());
  }
};
releases_body& releasing() {
  static releases_body one;
  return one;
}

/// Called while an exception of CCS_init is handled.
void end_job_unless_alone() noexcept {
  if (!layers::is_alone_in_job()) fail_by_exception("CCS_init");
}

}  // namespace

process* process::make() {
  try {
    return new process;
  } catch (...) {
    end_job_unless_alone();
    throw;
  }
}

process::process() : generation(generations.fetch_add(1, std::memory_order_relaxed) + 1) {
  try {
    allocate();
  } catch (...) {
    end_job_unless_alone();  // before release(), which would wait for the others
    release();
    throw;
  }
}

process::~process() { release(); }

void process::allocate() {
  runtime = allocate_runtime();
  lci::large_copy::set_rule(static_cast<lci::copy_rule>(runtime.get_attr_copy_way()));
  rank = lci::get_rank_me_x().runtime(runtime)();
  size = lci::get_rank_n_x().runtime(runtime)();
  peers = std::vector<peer>(static_cast<size_t>(size));
  announced_nodes_.resize(static_cast<size_t>(size));
  pool = lci::alloc_packet_pool_x().runtime(runtime).packet_size(size_of_packets)();
  packet_size = lci::get_max_bcopy_size_x().runtime(runtime).packet_pool(pool)();
  ordered = lci::alloc_stream_x().runtime(runtime)();
  bulk = lci::alloc_stream_x().runtime(runtime)();
  never_ = lci::alloc_sync_x().runtime(runtime)();
  handler_arrivals_ = lci::alloc_am_handler_x(arrive_for_handler).runtime(runtime).user_context(this)();
  service_arrivals_ = std::make_unique<service_arrivals>(*this);
  to_handlers = lci::register_rcomp_x(handler_arrivals_).runtime(runtime)();
  to_ccs = lci::register_rcomp_x(lci::comp_t(service_arrivals_.get())).runtime(runtime)();
  device = lci::alloc_device_x().runtime(runtime).packet_pool(pool).use_reg_cache(true)();
  memory = std::make_unique<registration_table>(device, peers.size(), threshold_from_environment());
}

void process::release() noexcept {
  const auto free = [](auto&& f) { insist("CCS_finalize", f); };
  memory.reset();
  blocks.release_all();
  if (!device.is_empty()) free([this] { lci::free_device_x(&device).runtime(runtime)(); });
  if (to_handlers != no_rcomp) free([this] { lci::deregister_rcomp_x(to_handlers).runtime(runtime)(); });
  if (to_ccs != no_rcomp) free([this] { lci::deregister_rcomp_x(to_ccs).runtime(runtime)(); });
  if (!handler_arrivals_.is_empty()) free([this] { lci::free_comp_x(&handler_arrivals_).runtime(runtime)(); });
  if (!never_.is_empty()) free([this] { lci::free_comp_x(&never_).runtime(runtime)(); });
  if (!ordered.is_empty()) free([this] { lci::free_stream_x(&ordered).runtime(runtime)(); });
  if (!bulk.is_empty()) free([this] { lci::free_stream_x(&bulk).runtime(runtime)(); });
  if (!pool.is_empty()) free([this] { lci::free_packet_pool_x(&pool).runtime(runtime)(); });
  if (!runtime.is_empty()) free([this] { lci::free_runtime(&runtime); });
  for (thread_counts* c = all_counts_.load(std::memory_order_acquire); c != nullptr;) {
    thread_counts* const next = c->next;
    delete c;
    c = next;
  }
}

bool process::progress() {
  try {
    return lci::progress_x().device(device)().is_done();
  } catch (const lci::resource_error&) {
    fail_by_exception("a message");  // the message is lost
  }
}

void process::poll() {
  tls.at_once = 0;
  if (tls.running > 0) return;
  (void)progress();
  if (tls.busy > 0) return;
  if (LCI_UNLIKELY(!due.is_empty() || announced_.load(std::memory_order_relaxed) > 0 || !sendings.is_empty() ||
                   !delayed.is_empty()))
    run_what_waits();
}

void poll_between() noexcept {
  process* const p = the_process.load(std::memory_order_acquire);
  or_fail("CCS_poll", [p] { p->poll(); });
}

void process::run_what_waits() {
  while (const std::unique_ptr<due_callback> one = due.take()) call_now(one->callback, one->arg, one->status);
  if (announced_.load(std::memory_order_relaxed) > 0) run_inboxes();
  if (!sendings.is_empty()) sendings.advance();
  if (!delayed.is_empty()) call_delayed(*this);
}

void process::announce(int node) noexcept {
  busy_inboxes.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard guard(announced_lock_);
  const size_t n = announced_.load(std::memory_order_relaxed);
  announced_nodes_[(first_announced_ + n) % announced_nodes_.size()] = node;
  announced_.store(n + 1, std::memory_order_relaxed);
}

int process::take_announced() noexcept {
  std::lock_guard guard(announced_lock_);
  const size_t n = announced_.load(std::memory_order_relaxed);
  if (n == 0) return -1;
  const int node = announced_nodes_[first_announced_];
  first_announced_ = (first_announced_ + 1) % announced_nodes_.size();
  announced_.store(n - 1, std::memory_order_relaxed);
  return node;
}

void process::run_inboxes() {
  for (size_t turns = announced_.load(std::memory_order_relaxed); turns > 0; --turns) {
    const int node = take_announced();
    if (node < 0) return;
    inbox& in = peers[static_cast<size_t>(node)].in;
    // Another thread that has a message of this node announces the rest when it has handled that.
    while (const std::unique_ptr<inbox::message> m = in.begin()) {
      handle(*this, node, m->tag, m->data.get(), m->size);
      if (!in.end()) {
        busy_inboxes.fetch_sub(1, std::memory_order_release);  // R2: pairs with A2 in messages.cpp
        break;
      }
    }
  }
}

void process::sleep(unsigned round) {
  const double timeout = std::min(1e-3, 2e-5 * (round - spins));
  try {
    (void)lci::sync_wait_for_x(never_, timeout, nullptr).device(device)();
  } catch (const lci::resource_error&) {
    fail_by_exception("a message");  // the message is lost
  }
}

thread_counts& process::make_counts() {
  auto* const made = new thread_counts;
  thread_counts* first = all_counts_.load(std::memory_order_relaxed);
  do {
    made->next = first;
  } while (!all_counts_.compare_exchange_weak(first, made, std::memory_order_release, std::memory_order_relaxed));
  tls.counts = made;
  tls.generation = generation;
  return *made;
}

process::totals process::count_messages() const {
  totals t;
  // Sum the handled messages first. Each of them was counted as sent before, so handled <= sent in the totals.
  for (thread_counts* c = all_counts_.load(std::memory_order_acquire); c != nullptr; c = c->next)
    t.handled += c->handled.load(std::memory_order_acquire);  // R1
  for (thread_counts* c = all_counts_.load(std::memory_order_acquire); c != nullptr; c = c->next)
    t.sent += c->sent.load(std::memory_order_acquire);  // R1
  return t;
}

bool process::has_work() const {
  return announced_.load(std::memory_order_acquire) > 0 || !sendings.is_empty() || !delayed.is_empty() ||
         receiving.load(std::memory_order_acquire) > 0 || memory->has_ending() ||
         std::any_of(peers.begin(), peers.end(), [](const peer& p) {
           return p.outstanding.load(std::memory_order_acquire) > 0 || !p.in.is_free();
         });
}

void process::wait_for_own_work() {
  using clock = std::chrono::steady_clock;
  const clock::time_point end_of_patience = clock::now() + patience;
  bool has_told = false;
  wait_until([&] {
    if (!has_work()) return true;
    if (!has_told && clock::now() >= end_of_patience) has_told = tell_of_delayed_message();
    return false;
  });
}

bool process::tell_of_delayed_message() const {
  return delayed.with_first([](const large_message& m) {
    (void)refuse("CCS_finalize",
                 "still waits: handler %u of context %u answers CCS_AGAIN to a message of %llu bytes from node %d, but "
                 "must accept or refuse it",
                 m.handler, m.context, static_cast<unsigned long long>(m.size), m.source);
  });
}

void process::become_quiet() {
  totals last{~uint64_t{0}, 0};
  for (;;) {
    poll();
    wait_for_own_work();
    const totals mine = count_messages();
    totals all;
    const lci::reduce_op_t sum = [](const void* left, const void* right, void* to, size_t n) {
      for (size_t i = 0; i < n; ++i)
        static_cast<uint64_t*>(to)[i] = static_cast<const uint64_t*>(left)[i] + static_cast<const uint64_t*>(right)[i];
    };
    insist("CCS_finalize", [&] {
      wait_for([&](lci::comp_t done) {
        lci::allreduce_x(&mine, &all, 2, sizeof(uint64_t), sum).device(device).comp(done)();
      });
    });
    // Twice the same: no message was sent between the two rounds, in which the ranks count at different times.
    if (all.sent == all.handled && all.sent == last.sent && all.handled == last.handled) return;
    last = all;
  }
}

void process::send(lci::stream_t stream, int node, wire::kind k, const void* body, size_t size) {
  (void)lci::post_am_x(node, body, size, lci::COMP_NULL, to_ccs)
      .device(device)
      .stream(stream)
      .tag(static_cast<lci::tag_t>(k))();
}

void process::send(lci::stream_t stream, int node, lci::rcomp_t to, lci::tag_t tag, std::unique_ptr<std::byte[]> body,
                   size_t size) {
  std::byte* const bytes = body.get();
  const lci::status_t s = lci::post_am_x(node, bytes, size, lci::comp_t(&releasing()), to)
                              .device(device)
                              .stream(stream)
                              .tag(tag)
                              .allow_retry(false)
                              .user_context(bytes)();
  if (s.is_posted()) (void)body.release();
}

void process::take_back(const registration_table::endings& ended) noexcept {
  for (const registration_table::ending& e : ended)
    for (const int node : e.holders) answer(ordered, node, wire::kind::key_ended, wire::key_name{e.id});
}

}  // namespace ccs
