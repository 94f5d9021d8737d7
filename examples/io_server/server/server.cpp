#include "server.hpp"

#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "execute.hpp"

namespace io_server {

namespace {

struct free_memory {
  void operator()(void* p) const { std::free(p); }
};

/// Seconds that the server waits, when it ends, for the ends of its connections.
constexpr double closing_limit = 5;
/// A server thread moves to another processor at most once in this time. While all processors are busy, moving again
/// would not help.
constexpr std::chrono::milliseconds between_migrations{10};
/// A further thread is started if none leads for this long, and another one leads if the leader's request takes this
/// long.
constexpr std::chrono::milliseconds without_leader{100};
constexpr size_t most_threads = 256;

/// Moves the calling thread to another processor if it runs on `processor`, where the client goes on copying. When a
/// request wakes a server thread, the kernel often places it on its client's processor, and moves it only after up to
/// 50 ms.
void leave_processor(uint32_t processor) {
  thread_local std::chrono::steady_clock::time_point last;
  if (processor >= CPU_SETSIZE || sched_getcpu() != static_cast<int>(processor)) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last < between_migrations) return;
  last = now;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  cpu_set_t others = allowed;
  CPU_CLR(processor, &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace

server::server(const root_folder& root, const server_options& options)
    : root_(root),
      threads_(options.threads),
      verbose_(options.verbose),
      lends_(options.lend),
      requests_(lci::alloc_cq()),
      sent_(lci::alloc_counter()) {
  if (lci::register_rcomp(requests_) != request_queue) {
    std::fputs("lci_iod: something has registered handles before the server\n", stderr);
    std::abort();
  }
}

server::~server() {
  join();
  disconnect_all();
  if (watches_ != 0) return;  // the queue may still be signalled, so it is not freed
  lci::free_comp(&requests_);
  lci::free_comp(&sent_);
}

void server::start() {
  try {
    add_buffers();
    const std::lock_guard guard(supervising_);
    while (others_.size() + 1 < static_cast<size_t>(threads_)) start_thread();
    supervisor_ = std::thread([this] { supervise(); });
  } catch (const std::exception& e) {
    throw std::runtime_error("can't start " + std::to_string(threads_) + " threads: " + e.what());
  }
}

void server::add_buffers() {
  buffers_.push_back(std::make_unique<transfer_buffers>(lci::get_default_device(),
                                                        [this](int client) { end_of(client, "has failed"); }));
}

void server::start_thread() {
  if (buffers_.size() < others_.size() + 2) add_buffers();
  others_.emplace_back([this, &its = *buffers_.back()] { work(its); });
}

void server::let_another_lead(leadership::member& me) {
  if (me.give_up()) --free_;
}

void server::supervise() {
  std::unique_lock lock(supervising_);
  for (;;) {
    const uint64_t before = leads_.load(std::memory_order_relaxed), state = leading_.state();
    if (ending_.wait_for(lock, without_leader, [this] { return ends_; })) return;
    if (leading_.release_if(state)) --free_;
    if (free_ > 0 || leads_.load(std::memory_order_relaxed) != before || others_.size() + 1 >= most_threads) continue;
    try {
      start_thread();
    } catch (const std::exception&) {  // no memory, or no thread
    }
  }
}

void server::run() {
  transfer_buffers* its;
  {
    const std::lock_guard guard(supervising_);
    its = buffers_.front().get();
  }
  work(*its);
  join();
}

void server::join() {
  stop();
  {
    const std::lock_guard guard(supervising_);
    ends_ = true;
    ending_.notify_one();
  }
  if (supervisor_.joinable()) supervisor_.join();
  for (std::thread& t : others_) t.join();
  others_.clear();
}

void server::say(int client, const char* how) const {
  if (verbose_) std::fprintf(stderr, "lci_iod: client %d %s; %zu are left\n", client, how, sessions_.size());
}

void server::end_of(int client, const char* how) {
  const bool had_session = sessions_.end(client);
  disconnect(client);
  if (had_session) say(client, how);
}

void server::disconnect(int client) {
  try {
    lci::disconnect(client);
  } catch (const std::exception&) {  // the client has disconnected already
  }
}

void server::watch(int client, uint64_t connection) {
  try {
    (void)lci::post_recv_x(client, nullptr, 0, 0, requests_)
        .matching_policy(lci::matching_policy_t::rank_only)
        .allow_done(false)
        .allow_retry(false)
        .user_context(reinterpret_cast<void*>(connection))();
    ++watches_;
  } catch (const std::exception&) {  // the connection has ended before its first request was executed, or no memory
    end_of(client, "can't be watched");
  }
}

void server::on_end_of_watch(const lci::status_t& end, leadership::member& me) {
  --watches_;
  if (end.rank == last_client_) last_client_ = -1;
  const leadership::execution scope(me);  // closes the client's files
  if (!sessions_.end_connection(end.rank, reinterpret_cast<uintptr_t>(end.user_context))) return;
  if (end.is_done()) disconnect(end.rank);  // it has sent a message, so its end would no longer be reported
  say(end.rank, end.is_done() ? "does not follow the protocol" : "has disconnected or failed");
}

void server::disconnect_all() {
  const auto until = clock::now() + std::chrono::duration<double>(closing_limit);
  for (const int client : sessions_.clients()) end_of(client, "is disconnected");
  while (watches_ != 0 && clock::now() < until) {
    try {
      const lci::status_t s = lci::cq_wait_for(requests_, 0.1);
      if (s.is_retry()) continue;
      if (s.user_context != nullptr)
        --watches_;
      else
        std::free(s.buffer);
    } catch (const lci::peer_failure_error& e) {
      end_of(e.failed_rank(), "has failed");
    }
  }
}

void server::work(transfer_buffers& buffers) {
  leadership::member me(leading_);
  for (;;) {
    if (!me.leads()) {
      ++free_;
      me.lead();
    }
    if (stopping_.load(std::memory_order_relaxed)) return;
    leads_.store(leads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    try {
      const lci::status_t arrived = lci::cq_wait_for(requests_, 0.1);
      if (arrived.is_retry()) continue;
      if (arrived.user_context != nullptr) {
        on_end_of_watch(arrived, me);
        continue;
      }
      const std::unique_ptr<void, free_memory> message(arrived.buffer);
      serve(arrived, buffers, me);
    } catch (const lci::peer_failure_error& e) {
      const leadership::execution scope(me);
      end_of(e.failed_rank(), "has failed");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "lci_iod: %s\n", e.what());
    }
  }
}

bool server::others_are_active(int client) {
  const auto now = clock::now();
  if (client != last_client_) {
    if (last_client_ >= 0) client_changed_ = now;
    last_client_ = client;
  }
  return now - client_changed_ < std::chrono::milliseconds(10);
}

// Returns whether to let another thread lead during this request. Not for a single client, since that thread would
// compete with it for a processor.
bool server::may_last(const request& h, int client) {
  if (h.what == op::fsync || h.what == op::fallocate) return true;
  const bool others = others_are_active(client);
  if (h.what == op::write_staged) return others;
  return (h.what == op::read || h.what == op::write) && !h.memory.is_empty() && others;
}

void server::serve(const lci::status_t& arrived, transfer_buffers& buffers, leadership::member& me) {
  const int client = arrived.rank;
  received r;
  reply answer;
  char data[most_message - sizeof answer];
  outgoing out{data, sizeof data, 0};
  try {
    if (!execute_request(arrived, buffers, me, r, answer, out)) return;
  } catch (const lci::peer_failure_error&) {
    throw;
  } catch (const std::exception& e) {  // no memory; without a reply the client would wait until its timeout
    std::fprintf(stderr, "lci_iod: %s\n", e.what());
    answer.error = ENOMEM;
  }
  answer.number = r.head.number;
  if (answer.error != 0) out.size = 0;
  try {
    respond(client, r.head, answer, data, out.size);
  } catch (const lci::peer_failure_error&) {
    throw;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lci_iod: %s\n", e.what());
    return end_of(client, "can't be answered");
  }
  if (r.head.what == op::bye) disconnect(client);
}

bool server::execute_request(const lci::status_t& arrived, transfer_buffers& buffers, leadership::member& me,
                             received& r, reply& answer, outgoing& out) {
  const int client = arrived.rank;
  if (!take_request(arrived.buffer, arrived.size, r)) {
    end_of(client, "does not follow the protocol");
    return false;
  }
  if (r.head.what == op::hello) {
    const uint64_t connection = sessions_.begin(client);
    if (connection == 0) {
      end_of(client, "begins too many sessions");
      return false;
    }
    watch(client, connection);
  }
  const std::shared_ptr<session> its = sessions_.find(client);
  if (its == nullptr) return false;  // the session has ended meanwhile
  std::optional<write_order::turn> turn;
  if (r.head.what == op::write_staged) turn.emplace(its->writing);
  if (may_last(r.head, client)) let_another_lead(me);
  if (r.head.processor != no_processor) leave_processor(r.head.processor);
  if (r.head.what == op::bye) last_client_ = -1;
  const leadership::execution scope(me);
  if (turn) turn->wait();
  if (r.head.what == op::bye) {
    sessions_.end(client);  // before the reply, so that the client's locks are free when it gets the reply
    say(client, "has left");
  } else if ((r.head.what == op::read || r.head.what == op::write) && !r.head.memory.is_empty()) {
    buffers.on_delay = [this, &me] { let_another_lead(me); };
    const std::shared_ptr<open_file> file = its->find(r.head.handle);
    if (file == nullptr)
      answer.error = EBADF;
    else
      answer.error = r.head.what == op::read ? buffers.read(*file, client, r.head, answer)
                                             : buffers.write(*file, client, r.head, answer);
    buffers.on_delay = nullptr;
  } else if (r.head.what == op::lend && !lends_) {
    answer.error = EPERM;
  } else if (r.head.what != op::hello) {
    execute(root_, *its, r, answer, out);
  }
  return true;
}

void server::respond(int client, const request& to, const reply& what, const char* data, size_t size) {
  void* packet;
  while ((packet = lci::get_upacket()) == nullptr) {
    try {
      lci::progress();
    } catch (const lci::peer_failure_error& e) {  // of any client; this one still gets its reply
      end_of(e.failed_rank(), "has failed");
    }
  }
  reply head = what;
  head.size = static_cast<uint32_t>(size);
  std::memcpy(packet, &head, sizeof head);
  if (size != 0) std::memcpy(static_cast<char*>(packet) + sizeof head, data, size);
  try {
    // If the client is slow, LCI queues its replies, so this thread never waits for it.
    (void)lci::post_am_x(client, packet, sizeof head + size, sent_, to.reply_to).allow_retry(false)();
  } catch (const std::exception&) {
    lci::put_upacket(packet);
    throw;
  }
}

}  // namespace io_server
