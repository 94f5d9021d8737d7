#include "network/common/liveness.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <thread>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "network/common/errno_text.hpp"

namespace lci::network {

namespace {

// Notifications: a letter, and numbers of 4 bytes in host byte order, as all hosts of a job have the same.
constexpr char context_end = 'b';
constexpr char device_end = 'd';  // the device
constexpr char given_up = 'g';    // the device; the rank that it counts as failed
constexpr char token_known = 'k';

/// 0: not the letter of a notification after which others may follow.
size_t size_of_note(char letter) {
  switch (letter) {
    case device_end:
      return 1 + sizeof(uint32_t);
    case given_up:
      return 1 + 2 * sizeof(uint32_t);
    case token_known:
      return 1;
    default:
      return 0;
  }
}
constexpr size_t size_of_longest_note = 1 + 2 * sizeof(uint32_t);

void append(std::string& note, uint32_t number) { note.append(reinterpret_cast<const char*>(&number), sizeof number); }

uint32_t number_at(const char* from) {
  uint32_t number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

/// A connection's send buffer has space for a notification. The system may lack memory for it at the moment.
void send_note(int fd, const char* note, size_t size) {
  constexpr int most_tries = 20;
  for (int i = 0; i < most_tries; ++i) {
    if (send(fd, note, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || !lacks_resources(errno)) return;
    if (errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// A rank sends its token sooner, unless it computes. A connection without one is closed if its descriptor is needed.
constexpr std::chrono::seconds usual_token_time{1};
// A rank keeps as many connections without a token as the job has ranks, which may all connect at once, and this many
// more.
constexpr size_t spare_watchers = 64;
// How often the peer's host may close our connection before the peer counts as failed.
constexpr int most_dropped = 10;

constexpr uint64_t listener_mark = ~uint64_t{0};
constexpr uint64_t watcher_mark = uint64_t{1} << 32;  // added to a descriptor; without it the mark is a rank

bool add(int events, int fd, uint64_t mark) {
  epoll_event e{};
  e.events = EPOLLIN | EPOLLRDHUP;
  e.data.u64 = mark;
  return epoll_ctl(events, EPOLL_CTL_ADD, fd, &e) == 0;
}

}  // namespace

liveness::liveness(address_exchange& exchange, const sockaddr_storage& own_address, double timeout_s)
    : exchange_(exchange),
      own_rank_(exchange.rank()),
      timeout_(std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(timeout_s))),
      met_(new std::atomic<bool>[static_cast<size_t>(exchange.size())]()) {
  const auto n_ranks = static_cast<size_t>(exchange.size());
  sockaddr_storage mine = length_of(own_address) > 0 ? own_address : first_address();
  const int no_address = length_of(mine) > 0 ? 0 : errno;
  const bool watched = timeout_s > 0 && n_ranks > 1;
  if (watched && no_address != 0)
    log_warning("ranks can't monitor this one: " + no_address_text(no_address) + "; failures may go unnoticed");
  if (watched && length_of(mine) > 0) {
    listener_ = listen_at(mine, static_cast<int>(std::min<size_t>(n_ranks, 4096)));
    events_ = socket_handle(epoll_create1(EPOLL_CLOEXEC));
    // A rank that can't listen makes an empty offer, by which its peers know that they can't watch it.
    if (listener_.get() < 0 || events_.get() < 0 || !add(events_.get(), listener_.get(), listener_mark)) {
      log_warning("ranks can't monitor this one: " + errno_text(errno) + "; failures may go unnoticed");
      listener_ = {};
    }
  }
  std::string offer;
  if (listener_.get() >= 0) {
    token_ = new_secret();
    offer.assign(reinterpret_cast<const char*>(&mine), length_of(mine));
    offer.append(reinterpret_cast<const char*>(token_.data()), token_.size());
  }
  where_all_listen_ = exchange.offer(offer);
  // Before settle() no rank is watched.
  for (size_t r = 0; r < n_ranks; ++r) met_[r].store(true, std::memory_order_relaxed);
}

void liveness::settle(acquaintance how) {
  if (events_.get() < 0) return;
  const auto n_ranks = static_cast<size_t>(exchange_.size());
  if (how == acquaintance::all_at_once)
    for (const std::string& one : exchange_.read_all(where_all_listen_)) where_.push_back(address_in(one));
  for (size_t r = 0; r < n_ranks; ++r) {
    const bool known_not_to_listen = !where_.empty() && length_of(where_[r].listener) == 0;
    met_[r].store(static_cast<int>(r) == own_rank_ || known_not_to_listen, std::memory_order_relaxed);
  }
}

liveness::offered_address liveness::address_in(const std::string& offered) {
  offered_address where;
  if (offered.size() <= where.token.size()) return where;
  const size_t length = offered.size() - where.token.size();
  std::memcpy(&where.listener, offered.data(), std::min(length, sizeof where.listener));
  std::memcpy(where.token.data(), offered.data() + length, where.token.size());
  if (length != length_of(where.listener)) where.listener = {};
  return where;
}

liveness::~liveness() {
  std::lock_guard guard(mutex_);
  try {
    accept_all();
  } catch (const std::bad_alloc&) {
    // Peers whose connections were not accepted count this rank as failed.
  }
  for (auto& [fd, w] : watchers_) {
    // Closed with a token that was not read, a connection is reset, and the network may not deliver the notification.
    if (!w.known) (void)read_token(w);
    send_note(fd, &context_end, 1);
  }
}

void liveness::watch(int rank) noexcept {
  const auto r = static_cast<size_t>(rank);
  if (met_[r].exchange(true, std::memory_order_relaxed)) return;
  try {
    try {
      begin_to_watch(rank);
    } catch (const bootstrap_error& error) {
      log_warning("can't monitor rank " + std::to_string(rank) + ": " + error.what());
    }
  } catch (const std::bad_alloc&) {
    met_[r].store(false, std::memory_order_relaxed);  // the next meet() tries again
  }
}

void liveness::begin_to_watch(int rank) {
  const offered_address where =
      where_.empty() ? address_in(exchange_.read(where_all_listen_, rank)) : where_[static_cast<size_t>(rank)];
  if (length_of(where.listener) == 0) return;
  std::lock_guard guard(mutex_);
  watched w;
  w.where = where;
  w.since = clock::now();
  if (const int error = connect(rank, w); error != 0 && !may_pass(error) && !lacks_resources(error)) {
    if (!warned_)
      log_warning("no connection to monitor rank " + std::to_string(rank) + ": " + std::strerror(error) +
                  "; its failure may go unnoticed");
    warned_ = true;
    return;
  }
  watched_.emplace(rank, std::move(w));
  undecided_.insert(rank);
}

int liveness::connect(int rank, watched& w) {
  w.again = clock::now() + pause_before_next_try;
  w.connection = begin_to_connect(w.where.listener, std::chrono::duration_cast<std::chrono::milliseconds>(timeout_));
  if (w.connection.get() < 0) return errno;
  epoll_event e{};
  e.events = EPOLLIN | EPOLLRDHUP | EPOLLOUT;
  e.data.u64 = static_cast<uint64_t>(rank);
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, w.connection.get(), &e) == 0) return 0;
  const int error = errno;
  w.connection = {};
  return error;
}

liveness::view liveness::view_of(int rank) {
  std::lock_guard guard(mutex_);
  const auto at = watched_.find(rank);
  if (at == watched_.end()) {
    const auto is_its = [rank](const departure& d) { return d.rank == rank; };
    return std::any_of(departures_.begin(), departures_.end(), is_its) ? view::unsure : view::none;
  }
  return at->second.connected && at->second.reason.empty() ? view::alive : view::unsure;
}

liveness::departure liveness::departure_at(size_t i) {
  std::lock_guard guard(mutex_);
  return departures_[i];
}

void liveness::poll() {
  if (events_.get() < 0) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is polling
  epoll_event events[16];
  const int n = epoll_wait(events_.get(), events, 16, 0);
  for (int i = 0; i < n; ++i) {
    const uint64_t mark = events[i].data.u64;
    if (mark == listener_mark) {
      accept_all();
    } else if ((mark & watcher_mark) != 0) {
      handle_watcher(static_cast<int>(mark & ~watcher_mark));
    } else if (auto it = watched_.find(static_cast<int>(mark)); it != watched_.end()) {
      handle(it->first, it->second, events[i].events);
    }
  }
  if (!undecided_.empty()) handle_due();
}

void liveness::accept_all() {
  if (listener_.get() < 0) return;
  for (;;) {
    socket_handle s(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int fd = s.get();
    if (fd < 0) {
      const bool no_descriptor = errno == EMFILE || errno == ENFILE;
      if (no_descriptor && has_waiting(listener_) && close_stranger(usual_token_time)) continue;
      return;
    }
    if (n_unknown_ >= static_cast<size_t>(exchange_.size()) + spare_watchers) (void)close_stranger({});
    // If this fails, only the token and the end of the connection go unnoticed; if we closed it, the peer would have to
    // connect again.
    (void)add(events_.get(), fd, watcher_mark | static_cast<uint64_t>(fd));
    if (!notes_.empty()) send_note(fd, notes_.data(), notes_.size());
    // Without memory the connection would be closed, and the peer would have to connect again. With the room reserved,
    // emplace() moves the handle only if there is memory for the entry.
    insist_on_memory([&] {
      watchers_.reserve(watchers_.size() + 1);
      watchers_.emplace(fd, watcher{std::move(s), clock::now()});
    });
    ++n_unknown_;
    handle_watcher(fd);  // its token may have arrived
  }
}

bool liveness::read_token(watcher& w) {
  const int fd = w.connection.get();
  while (w.n_received < w.received.size()) {
    const ssize_t n = recv(fd, w.received.data() + w.n_received, w.received.size() - w.n_received, MSG_DONTWAIT);
    if (n < 0 && lacks_resources(errno)) return true;
    if (n <= 0) return false;
    w.n_received += static_cast<size_t>(n);
  }
  if (!equal(w.received, token_)) return false;
  w.known = true;
  --n_unknown_;
  send_note(fd, &token_known, 1);
  return true;
}

void liveness::handle_watcher(int fd) {
  const auto it = watchers_.find(fd);
  if (it == watchers_.end()) return;
  watcher& w = it->second;
  // A known watcher sends nothing more, so the connection has ended.
  if (!w.known && read_token(w)) return;
  if (!w.known) --n_unknown_;
  watchers_.erase(it);
}

bool liveness::close_stranger(clock::duration age) {
  auto oldest = watchers_.end();
  for (auto it = watchers_.begin(); it != watchers_.end(); ++it) {
    const watcher& w = it->second;
    if (!w.known && (oldest == watchers_.end() || w.since < oldest->second.since)) oldest = it;
  }
  if (oldest == watchers_.end() || clock::now() - oldest->second.since < age) return false;
  watcher& w = oldest->second;
  if (read_token(w) && w.known) return true;
  --n_unknown_;
  watchers_.erase(oldest);
  return true;
}

void liveness::handle(int rank, watched& w, uint32_t events) {
  const int fd = w.connection.get();
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) == 0) {
    // Connected: from now on only the end of the connection matters.
    w.connected = true;
    send_note(fd, reinterpret_cast<const char*>(w.where.token.data()), w.where.token.size());
    undecided_.erase(rank);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP;
    e.data.u64 = static_cast<uint64_t>(rank);
    epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &e);
    return;
  }
  char bytes[256];
  ssize_t got;
  for (;;) {
    // Here notes that could not be handled for lack of memory are handled, too, before the end of the connection.
    if (!take_notes(rank, w)) return;
    w.received.reserve(size_of_longest_note + sizeof bytes);  // before bytes are taken from the socket
    if ((got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) <= 0) break;
    w.received.append(bytes, static_cast<size_t>(got));
  }
  const int error = got < 0 ? errno : 0;
  if (error == EAGAIN || error == EINTR || (got < 0 && lacks_memory(error))) return;
  // First what needs memory: without it the event comes again.
  const bool was_dropped = !w.known && (got == 0 || error == ECONNRESET) && w.n_dropped < most_dropped;
  const bool is_retried = was_dropped || (!w.connected && may_pass(error));  // until the timeout
  std::string reason;
  if (!is_retried) {
    reason =
        w.connected || w.n_dropped > 0 ? "its process or host has failed, or is unreachable" : "it does not answer";
    if (error != 0) reason += std::string(": ") + std::strerror(error);
  }
  undecided_.insert(rank);
  w.connection = {};  // closes it, which removes it from the epoll set
  if (was_dropped) {
    // The peer took us for a stranger, as our token came late; or its process has ended, which the next try tells.
    ++w.n_dropped;
    w.connected = false;
    w.received.clear();
    w.since = clock::now();
  }
  if (is_retried) return;
  w.reason = std::move(reason);
  w.since = clock::now();
}

bool liveness::take_notes(int rank, watched& w) {
  size_t size;
  while (!w.received.empty() && (size = size_of_note(w.received[0])) != 0) {
    if (w.received.size() < size) return true;
    const char* const numbers = w.received.data() + 1;
    if (w.received[0] == token_known)
      w.known = true;
    else if (w.received[0] == device_end)
      add_departure(rank, false, "it has freed its device", number_at(numbers));
    else if (number_at(numbers + sizeof(uint32_t)) == static_cast<uint32_t>(own_rank_))
      add_departure(rank, true, "it counts this rank as failed", number_at(numbers));
    w.received.erase(0, size);
  }
  if (w.received.empty()) return true;
  // Anything but a close notification is invalid: handled as if the connection had ended.
  if (w.received[0] == context_end)
    depart(rank, false, "it has ended");
  else
    depart(rank, true, "its liveness connection sent an invalid message");
  return false;
}

void liveness::end_device(uint32_t number) {
  std::string note(1, device_end);
  append(note, number);
  std::lock_guard guard(mutex_);
  notify(note);
}

bool liveness::give_up(int rank, uint32_t number) {
  const bool was_met = met_[static_cast<size_t>(rank)].load(std::memory_order_relaxed);
  meet(rank);
  std::lock_guard guard(mutex_);
  const auto at = watched_.find(rank);
  if (at == watched_.end()) return was_met;
  if (!at->second.connected || !at->second.reason.empty()) return false;
  // Connections of watchers don't say whose they are, so all receive it, and that rank handles it.
  std::string note(1, given_up);
  append(note, number);
  append(note, static_cast<uint32_t>(rank));
  notify(note);
  return true;
}

void liveness::notify(const std::string& note) {
  accept_all();
  notes_ += note;
  for (auto& [fd, w] : watchers_) send_note(fd, note.data(), note.size());
}

void liveness::handle_due() {
  const auto now = clock::now();
  std::vector<int> due;
  for (const int rank : undecided_) {
    watched& w = watched_.at(rank);
    if (w.connection.get() < 0 && w.reason.empty() && now >= w.again) (void)connect(rank, w);
    if (now - w.since >= (w.reason.empty() ? timeout_ : clock::duration(grace_period))) due.push_back(rank);
  }
  for (const int rank : due) {
    const std::string reason = watched_.at(rank).reason;
    depart(rank, true, reason.empty() ? "it does not answer" : reason);
  }
}

void liveness::depart(int rank, bool failed, const std::string& why) {
  add_departure(rank, failed, why.c_str(), all_devices);  // first, since it needs memory
  undecided_.erase(rank);
  watched_.erase(rank);
}

void liveness::add_departure(int rank, bool failed, const char* why, int64_t of_device) {
  // The caller then discards the peer's notification, or closes the connection with the peer. So the departure would
  // never be reported if it were not recorded here.
  insist_on_memory([&] { departures_.push_back({rank, failed, why, of_device}); });
  n_departures_.store(departures_.size(), std::memory_order_release);  // R1: pairs with A1
}

}  // namespace lci::network
