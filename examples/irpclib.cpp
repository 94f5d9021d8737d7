// Listings 1 and 2 of the LCI paper as a running program: iRPCLib, a small library of remote
// procedure calls. Its backend sends and receives bytes with LCI; its upper layer turns calls into
// bytes. Every thread has its own device; all threads share one completion queue.
//
//   lcirun -n 4 irpclib [threads] [calls of each thread]

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <lci.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// ---------------------------------------------------------------- the backend (Listing 2)
namespace backend {

struct msg_t {
  int rank;
  int tag;
  void* buf;
  size_t size;
};

// shared resources
lci::comp_t shandler;  // send completion handler
lci::comp_t rcq;       // receive completion queue
lci::rcomp_t rcomp;    // remote completion handle for rcq
// thread-local resources
thread_local lci::device_t device;

// callback for source-side completion
void send_cb(lci::status_t status) {
  // free the message buffer once the send is done
  std::free(status.get_buffer());
}

void global_init(int* rank_me, int* rank_n) {
  lci::g_runtime_init();
  *rank_me = lci::get_rank_me();
  *rank_n = lci::get_rank_n();
  shandler = lci::alloc_handler(send_cb);
  rcq = lci::alloc_cq();
  rcomp = lci::register_rcomp(rcq);
}

void global_fina() {
  lci::free_comp(&shandler);
  lci::free_comp(&rcq);
  lci::g_runtime_fina();
}

// The k-th device of a rank is paired with the k-th of the others, so threads create them one after the other.
void thread_init() {
  static std::mutex one_by_one;
  const std::lock_guard<std::mutex> guard(one_by_one);
  device = lci::alloc_device();
}

void thread_fina() { lci::free_device(&device); }

bool send_msg(int rank, void* buf, size_t s, int tag) {
  lci::status_t status =
      lci::post_am_x(rank, buf, s, shandler, rcomp).tag(static_cast<lci::tag_t>(tag)).device(device)();
  if (status.error.is_retry()) return false;  // the send failed temporarily
  if (status.error.is_done()) {
    send_cb(status);  // the send immediately completed
  } else {
    assert(status.error.is_posted());
  }
  return true;  // the send succeeded
}

bool poll_msg(msg_t* msg) {
  lci::status_t status = lci::cq_pop(rcq);
  if (status.error.is_done()) {
    *msg = {status.rank, static_cast<int>(status.tag), status.get_buffer(), status.get_size()};
    // the upper layer is responsible for freeing the buffer once it consumes the message
    return true;
  }
  assert(status.error.is_retry());
  return false;
}

bool do_background_work() { return lci::progress_x().device(device)().is_done(); }

}  // namespace backend

// ---------------------------------------------------------------- the upper layer
namespace irpc {

// Arguments and results are bytes; a handler returns the result for the caller.
using bytes = std::string;
using handler_t = std::function<bytes(int from, const bytes& arguments)>;

std::vector<handler_t> handlers;  // messages contain the index; it is the same on every rank

int register_rpc(handler_t h) {
  handlers.push_back(std::move(h));
  return static_cast<int>(handlers.size()) - 1;
}

// A call in progress. The answer identifies it by its address.
struct future {
  std::atomic<bool> ready{false};
  bytes result;
};

// Precedes the arguments in a message.
struct header {
  uint64_t id = 0;  // the caller's future
  uint64_t is_answer = 0;
};

std::atomic<uint64_t> messages{0}, retries{0};

// Handles one message, if there is one. Answers are sent from here, not from a handler inside LCI.
bool serve();

void send(int rank, int tag, const header& head, const bytes& body) {
  const size_t size = sizeof head + body.size();
  char* buf = static_cast<char*>(std::malloc(size));
  if (buf == nullptr) throw std::bad_alloc();
  std::memcpy(buf, &head, sizeof head);
  std::memcpy(buf + sizeof head, body.data(), body.size());
  while (!backend::send_msg(rank, buf, size, tag)) {
    retries.fetch_add(1, std::memory_order_relaxed);
    backend::do_background_work();  // not serve(), which could recurse without limit
  }
  messages.fetch_add(1, std::memory_order_relaxed);
}

bool serve() {
  const bool moved = backend::do_background_work();
  backend::msg_t msg;
  if (!backend::poll_msg(&msg)) return moved;
  header head;
  std::memcpy(&head, msg.buf, sizeof head);
  const bytes body(static_cast<const char*>(msg.buf) + sizeof head, msg.size - sizeof head);
  std::free(msg.buf);
  if (head.is_answer) {
    auto* f = reinterpret_cast<future*>(head.id);
    // R4: pairs with R3. The caller's store precedes its send; that ordering went through another process, where tools
    // such as ThreadSanitizer can't observe it.
    if (f->ready.load(std::memory_order_acquire)) throw std::logic_error("answered twice");
    f->result = body;
    f->ready.store(true, std::memory_order_release);  // R1: pairs with R2
    return true;
  }
  const bytes result = handlers.at(static_cast<size_t>(msg.tag))(msg.rank, body);
  if (head.id != 0) send(msg.rank, msg.tag, {head.id, 1}, result);
  return true;
}

// Starts a call; `f` must exist until it is ready.
void call(int rank, int rpc, const bytes& arguments, future* f) {
  f->ready.store(false, std::memory_order_release);  // R3: pairs with R4
  send(rank, rpc, {reinterpret_cast<uint64_t>(f), 0}, arguments);
}

bytes wait(future* f) {
  while (!f->ready.load(std::memory_order_acquire)) {  // R2: pairs with R1
    if (!serve()) std::this_thread::yield();
  }
  return std::move(f->result);
}

}  // namespace irpc

// ---------------------------------------------------------------- the application
namespace {

// Listing 1: variants of an operation, shown by greetings around the ring of ranks.
void greet_neighbours(int me, int n, lci::device_t device) {
  using namespace lci;
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  const size_t size = sizeof me;
  for (tag_t tag = 0; tag < 3; ++tag) {
    int received = -1;
    comp_t comp = alloc_sync();
    status_t status, ret;
    switch (tag) {
      case 0:  // on the default device
        status = post_recv(left, &received, size, tag, comp);
        ret = post_send(right, &me, size, tag, COMP_NULL);
        break;
      case 1:
        status = post_recv_x(left, &received, size, tag, comp).device(device)();
        ret = post_send_x(right, &me, size, tag, COMP_NULL).device(device)();
        break;
      default:
        status = post_recv_x(left, &received, size, tag, comp)
                     .matching_policy(matching_policy_t::rank_only)
                     .device(device)();
        ret = post_send_x(right, &me, size, tag, COMP_NULL)
                  .matching_policy(matching_policy_t::rank_only)
                  .device(device)();
    }
    const device_t used = tag == 0 ? get_default_device() : device;
    if (status.is_posted()) sync_wait_x(comp, nullptr).device(used)();
    // With COMP_NULL, a send is complete when its buffer may be reused; the message may still be queued inside LCI
    // until progress on its device, which no thread makes later on the default device.
    wait_drained_x().device(used)();
    free_comp(&comp);
    if (!ret.is_done() || received != left) throw std::runtime_error("a greeting was not received as sent");
  }
}

// FNV-1a: a remote computation whose result is easily checked.
uint64_t checksum(const std::string& s) {
  uint64_t h = 14695981039346656037u;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

std::string text_of(uint64_t n) { return std::to_string(n); }

// Runs the calls of one thread, several of them in flight. Returns the number of wrong answers.
uint64_t run_calls(int me, int n, size_t thread, uint64_t ncalls, int rpc_add, int rpc_checksum) {
  constexpr size_t window = 16;
  std::vector<irpc::future> futures(window);
  std::vector<std::string> expected(window);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < ncalls + window; ++i) {
    irpc::future& f = futures[i % window];
    std::string& right = expected[i % window];
    if (i >= window && irpc::wait(&f) != right) ++wrong;
    if (i >= ncalls) continue;
    const int target = static_cast<int>((static_cast<uint64_t>(me) + i + thread) % static_cast<uint64_t>(n));
    if (i % 2 == 0) {
      right = text_of(i + thread);
      irpc::call(target, rpc_add, text_of(i) + " " + text_of(thread), &f);
    } else {
      // Up to 64 KiB: some fit into a packet, others are sent as large messages.
      const std::string argument(size_t{1} << (i / 2 % 17), static_cast<char>('a' + i % 26));
      right = text_of(checksum(argument));
      irpc::call(target, rpc_checksum, argument, &f);
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const long nthreads_given = argc > 1 ? std::atol(argv[1]) : 2;
  const long ncalls_given = argc > 2 ? std::atol(argv[2]) : 2000;
  if (nthreads_given < 1 || nthreads_given > 256 || ncalls_given < 0 || argc > 3) {
    std::fprintf(stderr, "usage: irpclib [threads, 1 to 256] [calls of each thread]\n");
    return 2;
  }
  const auto nthreads = static_cast<size_t>(nthreads_given);
  const auto ncalls = static_cast<uint64_t>(ncalls_given);

  int me = 0, n = 1;
  backend::global_init(&me, &n);
  backend::thread_init();
  greet_neighbours(me, n, backend::device);

  std::atomic<int> finished_ranks{0};
  std::atomic<uint64_t> wrong{0}, served{0}, wrong_everywhere{0};
  const int rpc_add = irpc::register_rpc([&](int, const irpc::bytes& a) {
    served.fetch_add(1, std::memory_order_relaxed);
    char* rest = nullptr;
    const uint64_t x = std::strtoull(a.c_str(), &rest, 10);
    return text_of(x + std::strtoull(rest, nullptr, 10));
  });
  const int rpc_checksum = irpc::register_rpc([&](int, const irpc::bytes& a) {
    served.fetch_add(1, std::memory_order_relaxed);
    return text_of(checksum(a));
  });
  const int rpc_finished = irpc::register_rpc([&](int, const irpc::bytes& a) {
    wrong_everywhere.fetch_add(std::strtoull(a.c_str(), nullptr, 10), std::memory_order_relaxed);
    finished_ranks.fetch_add(1, std::memory_order_release);  // E1: pairs with E2
    return irpc::bytes();
  });

  std::atomic<size_t> threads_left{nthreads};
  std::atomic<bool> all_know{false};  // all ranks know that this one is finished
  const auto thread_main = [&](size_t thread) {
    if (thread > 0) backend::thread_init();
    wrong.fetch_add(run_calls(me, n, thread, ncalls, rpc_add, rpc_checksum), std::memory_order_relaxed);
    // The last thread reports to all ranks that this one has no more calls, and waits for their answers.
    if (threads_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::vector<irpc::future> told(static_cast<size_t>(n));
      const std::string errors = text_of(wrong.load(std::memory_order_relaxed));
      for (int r = 0; r < n; ++r) {
        irpc::call(r, rpc_finished, errors, &told[static_cast<size_t>(r)]);
      }
      for (auto& f : told) irpc::wait(&f);
      all_know.store(true, std::memory_order_release);  // E3: pairs with E4
    }
    // Other ranks may still call this one, and answers may arrive on any of its devices: a thread that ended now would
    // destroy its device with messages that no thread has taken from it.
    while (finished_ranks.load(std::memory_order_acquire) < n ||  // E2: pairs with E1
           !all_know.load(std::memory_order_acquire)) {           // E4: pairs with E3
      if (!irpc::serve()) std::this_thread::yield();
    }
    // Its last answers may still be queued: send them before the device is destroyed.
    lci::wait_drained_x().device(backend::device)();
    backend::thread_fina();
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < nthreads; ++i) threads.emplace_back(thread_main, i);
  thread_main(0);
  for (auto& t : threads) t.join();

  const uint64_t errors = wrong_everywhere.load();
  std::printf(
      "rank %d of %d: %zu threads made %llu calls and served %llu, %llu messages, "
      "%llu sends tried again, %llu wrong answers\n",
      me, n, nthreads, static_cast<unsigned long long>(ncalls * nthreads),
      static_cast<unsigned long long>(served.load()), static_cast<unsigned long long>(irpc::messages.load()),
      static_cast<unsigned long long>(irpc::retries.load()), static_cast<unsigned long long>(wrong.load()));
  backend::global_fina();
  return errors == 0 ? 0 : 1;
}
