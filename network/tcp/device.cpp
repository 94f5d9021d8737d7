// Construction and destruction of a device and its connections.
#include "network/tcp/device.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"

namespace lci::network::sockets {

namespace {

// Above this size a system call costs less than copying.
constexpr size_t bundle_end = size_t{32} << 10;

/// By then the failure of a process, or a silent host, has been detected.
constexpr std::chrono::seconds longest_suspicion{10};

socket_handle made_epoll() {
  socket_handle made(epoll_create1(EPOLL_CLOEXEC));
  if (made.get() < 0)
    throw resource_error(std::string("tcp: no epoll: ") + std::strerror(errno) + "; raise `ulimit -n`");
  return made;
}

// What a packet holds, times this, goes at once: the system buffers it. More waits for a rendezvous, so that the
// receiver reads it straight to its place; that takes less time from four packets on, and one round trip more.
constexpr size_t most_packets = 2;

size_t largest_message_of(size_t eager_size) { return std::min(most_packets * eager_size, largest_content); }

}  // namespace

device::device(context& c, size_t eager_size)
    : remote_device(c, "tcp", longest_suspicion),
      context_(c),
      own_rank_(c.rank()),
      row_end_(std::min(bundle_end, c.attr().tcp_buffer_size / 4)),
      events_(made_epoll()),
      self_("tcp"),
      chunks_(std::max({c.attr().tcp_buffer_size, frame_begin + connection::large,
                        frame_begin + frame_room(sizeof(put_head) + largest_message_of(eager_size))})),
      links_(new std::atomic<connection*>[static_cast<size_t>(c.size())]()) {
  limits_.max_inject = limits_.max_send = largest_message_of(eager_size);
  limits_.max_rma = std::min(c.attr().max_msg_size, largest_content);
  limits_.rma = limits_.put_imm = limits_.put_then_send_ordered = true;
  limits_.ordered = true;
  limits_.max_ordered_put = limits_.max_rma;  // the one connection to a peer carries everything in posting order
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.u64 = self_mark;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, self_.fd(), &e) != 0)
    throw resource_error(std::string("tcp: can't wait for an eventfd: ") + std::strerror(errno) +
                         "; raise /proc/sys/fs/epoll/max_user_watches");
  handshakes_ = std::make_unique<handshakes>(*this, own_rank_, c.size(), c.address(), events_.get(), c.timeout());
  endpoints_of_all_ = c.exchange().offer(handshakes_->own().packed());
  context_.flusher().add(*this);
}

device::~device() { context_.flusher().remove(*this); }

void device::settle(acquaintance how) {
  count_device();
  if (how != acquaintance::all_at_once) return;
  const std::vector<std::string> all = context_.exchange().read_all(endpoints_of_all_);
  std::vector<endpoint> found;
  for (size_t r = 0; r < all.size(); ++r) found.push_back(endpoint::unpack(all[r], static_cast<int>(r)));
  endpoints_ = std::move(found);
}

registration device::register_memory(void* base, size_t size) {
  registration r;
  r.rkey = regions_.add(base, size);
  return r;
}

connection& device::make_link(int rank, bool& made) {
  std::lock_guard guard(links_mutex_);
  made = false;
  if (connection* const there = link_if_any(rank)) return *there;
  const size_t n = owned_links_.size() + 1;
  // Posts don't expect an exception, and the peer may already count as connected.
  insist_on_memory([&] {
    reserve_peers(n);
    waiting_.reserve(n);
    deferred_.reserve(undelivered_, 2 * n);
    deferred_.reserve(ended_links_, 3 * n);  // the failure, the end of reading, and a second try
    owned_links_.push_back(std::make_unique<connection>(rank));
  });
  links_[static_cast<size_t>(rank)].store(owned_links_.back().get(), std::memory_order_release);  // R1
  made = true;
  return *owned_links_.back();
}

connection& device::meet(int rank) {
  bool made = false;
  connection& c = make_link(rank, made);
  if (!made || rank == own_rank_) return c;
  try {
    const auto r = static_cast<size_t>(rank);
    context_.peers().meet(rank);  // first, as failure handling needs the peer's liveness connection
    // Only the thread that has made the link does this, so it can't be left to a later call.
    insist_on_memory([&] {
      handshakes_->begin(rank, endpoints_.empty()
                                   ? endpoint::unpack(context_.exchange().read(endpoints_of_all_, rank), rank)
                                   : endpoints_[r]);
    });
  } catch (const bootstrap_error& error) {
    warn_and_fail_peer(rank, error.what());
  } catch (const std::bad_alloc&) {
    warn_and_fail_peer(rank, "there is no memory to connect to it");
  }
  return c;
}

bool device::has_decided(int rank) {
  const connection* const c = link_if_any(rank);
  return c != nullptr && (c->fd.load(std::memory_order_relaxed) >= 0 || c->is_gone());
}

void device::on_connected(int rank, socket_handle socket) {
  bool made = false;
  connection& c = make_link(rank, made);
  const int fd = socket.get();
  {
    std::lock_guard guard(c.lock);
    c.socket = std::move(socket);
    c.fd.store(fd, std::memory_order_release);
  }
  // Last: from here on other threads read from it.
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.u64 = static_cast<uint32_t>(rank);
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &e);
  n_connected_.fetch_add(1, std::memory_order_relaxed);
  context_.peers().meet(rank);
}

}  // namespace lci::network::sockets
