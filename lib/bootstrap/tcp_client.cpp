#include "lib/bootstrap/tcp_client.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/quiet_thread.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/meanwhile.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network::tcp {

namespace {
constexpr double time_for_the_root = 5;  // seconds
}  // namespace

client::client(socket_fd fd, std::string name, double timeout)
    : fd_(std::move(fd)), name_(std::move(name)), timeout_(timeout) {
  // What the thread needs to say how it has ended is allocated here.
  thread_ =
      quiet_thread("lci-tcp-client",
                   [this, over = "the root of the job at " + name_ + " (rank 0) has ended or closed the connection",
                    no_memory = "there is no memory for a message of the root of the job at " + name_ +
                                " (rank 0)"]() mutable { read_all(std::move(over), std::move(no_memory)); });
}

client::~client() {
  shutdown(fd_.get(), SHUT_RDWR);  // ends the thread
  thread_.join();
}

void client::read_all(std::string over, std::string no_memory) {
  bool short_of_memory = false;
  try {
    read_frames(over);
  } catch (const std::bad_alloc&) {
    short_of_memory = true;
  }
  std::lock_guard guard(mutex_);
  ended_.swap(short_of_memory ? no_memory : over);
  changed_.notify_all();
}

void client::read_frames(std::string& over) {
  frame_buffer in;
  char bytes[65536];
  for (;;) {
    const ssize_t n = recv(fd_.get(), bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd p{fd_.get(), POLLIN, 0};
      poll(&p, 1, -1);
      continue;
    }
    if (n < 0 && lacks_memory(errno)) {
      await_memory();
      continue;
    }
    if (n <= 0) {
      if (n < 0) over += std::string(": ") + strerror(errno);
      return;
    }
    insist_on_memory([&] { in.append(bytes, static_cast<size_t>(n)); });
    auto state = frame_buffer::state::whole;
    while (state == frame_buffer::state::whole) {
      frame f;
      state = insist_on_memory([&] { return in.next(f, max_body); });
      if (state == frame_buffer::state::whole) deliver(std::move(f));
    }
    if (state == frame_buffer::state::garbage) {
      over = "what answers at " + name_ + " sent bytes that are no frame: it is not the root of an LCI job";
      return;
    }
  }
}

void client::deliver(frame f) {
  if (f.what == kind::abort && !expecting_abort_.load(std::memory_order_relaxed)) {
    reader r(f.body);
    const int code = static_cast<int>(r.number());
    const std::string text = "lci: " + pmi1::printable(r.text(2 * max_text)) + "\n";
    if (r.complete()) {
      [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
      _exit(code);
    }
  }
  std::lock_guard guard(mutex_);
  insist_on_memory([&] { frames_.push_back(std::move(f)); });
  changed_.notify_all();
}

void client::send_encoded(const std::string& bytes) {
  size_t done = 0;
  int tries = 1;
  while (done < bytes.size()) {
    const ssize_t n = ::send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd p{fd_.get(), POLLOUT, 0};
      if (poll(&p, 1, timeout_ > 0 ? static_cast<int>(std::min(timeout_ * 1e3, 1e9)) + 1 : -1) == 0) {
        throw bootstrap_error("the root of the job at " + name_ + " (rank 0) has not read from the connection for " +
                              seconds_text(timeout_));
      }
    } else if (lacks_memory(errno) && tries++ < memory_tries) {
      await_memory();
    } else if (errno != EINTR) {
      return;  // receive() reports why the connection has ended
    }
  }
}

frame client::receive() {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !frames_.empty() || !ended_.empty(); };
  // The root uses the same timeout for other ranks; allow it extra time to report which rank is missing.
  const double longest_wait = timeout_ + std::min(timeout_, time_for_the_root);
  if (!wait_until(changed_, lock, longest_wait, ready)) {
    throw bootstrap_error("no answer from the root of the job at " + name_ + " (rank 0) within " +
                          seconds_text(longest_wait) + "; LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to wait");
  }
  if (frames_.empty()) throw bootstrap_error(ended_);
  frame f = std::move(frames_.front());
  frames_.pop_front();
  return f;
}

frame client::expect(kind what) {
  frame f = receive();
  if (f.what == what) return f;
  if (f.what == kind::refused) {
    reader r(f.body);
    throw bootstrap_error("the root of the job at " + name_ +
                          " refuses this rank: " + pmi1::printable(r.text(max_text)));
  }
  throw bootstrap_error("what answers at " + name_ + " is not the root of an LCI job of this version");
}

std::string client::join(int rank, int size, const job_key& key) {
  const std::string nonce = make_nonce(nonce_size);
  writer hello;
  hello.text(magic).number(static_cast<uint32_t>(rank)).number(static_cast<uint32_t>(size));
  hello.number(key.given() ? 1 : 0).text(nonce);
  send(kind::hello, hello.body());
  const frame f = expect(kind::challenge);
  reader r(f.body);
  const std::string name = r.text(sizeof magic), root_nonce = r.text(nonce_size), proof = r.text(64);
  if (!r.complete() || name != magic || root_nonce.size() != nonce_size) {
    throw bootstrap_error("what answers at " + name_ + " is not the root of an LCI job");
  }
  if (!job_key::same(proof, key.proof(root_claim(nonce, root_nonce, rank, size)))) {
    throw bootstrap_error("what answers at " + name_ + " has another LCI_TCP_KEY than this rank");
  }
  send(kind::proof, writer().text(key.proof(rank_claim(nonce, root_nonce, rank, size))).body());
  return await_welcome();
}

std::string client::await_welcome() {
  const frame f = expect(kind::welcome);
  reader r(f.body);
  std::string id = r.text(max_text);
  if (!r.complete() || id.empty()) throw bootstrap_error("the root of the job gave it no name");
  return id;
}

}  // namespace lci::network::tcp
