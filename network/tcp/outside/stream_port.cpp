#include "network/tcp/outside/stream_port.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/concurrent/attempt.hpp"

namespace lci::network::outside {

namespace {

/// Datagrams of a stream that its reader has not read.
constexpr uint32_t window = 64;
// Polls make connections, and no event announces them.
constexpr int64_t sleep_while_busy_us = 1000, longest_sleep_us_of_port = 10000;
// How long a closed stream waits for its last sends.
constexpr std::chrono::seconds longest_farewell{5};

struct datagram_head {
  unsigned char token[sizeof(nonce)];  // of the receiver
  uint32_t number;                     // of the receiver
  uint32_t sequence;                   // of the datagrams with data or an end
  uint32_t acknowledged;               // as message_stream::taken
  uint32_t what;                       // a sequel
};

constexpr char offer_magic[] = "LCIflow1";
struct offer_record {
  char magic[8];
  uint32_t number;
  uint32_t name_size;
  unsigned char token[sizeof(nonce)];
  char name[datagram_endpoint::longest_name];
};

/// What read() and write() return if they move no bytes.
ssize_t no_bytes(int error) {
  errno = error;
  return -1;
}

}  // namespace

message_stream& stream_port::open(int peer, bool begins, socket_handle& socket) {
  std::lock_guard guard(lock_);
  auto made = std::make_unique<message_stream>();
  message_stream& s = *made;
  s.peer = peer;
  s.begins = begins;
  s.number = next_number_;
  s.token = new_nonce();
  const std::string name = endpoint_->name();
  offer_record r{};
  std::memcpy(r.magic, offer_magic, sizeof r.magic);
  r.number = s.number;
  r.name_size = static_cast<uint32_t>(name.size());
  std::memcpy(r.token, s.token.data(), sizeof r.token);
  std::memcpy(r.name, name.data(), std::min(name.size(), sizeof r.name));
  busy_.reserve(streams_.size() + 1);
  ready_.reserve(streams_.size() + 1);
  s.offer.reserve(sizeof(offer_record));
  streams_.emplace(s.number, std::move(made));
  s.socket = std::move(socket);
  ++next_number_;
  // A new socket has room for it. If the peer is gone, reading its offer fails.
  (void)::send(s.socket.get(), &r, sizeof r, MSG_NOSIGNAL | MSG_DONTWAIT);
  mark_busy(s);
  return s;
}

void stream_port::close(message_stream& s) {
  std::lock_guard guard(lock_);
  drop_unread(s);
  s.is_closed = true;
  s.closed_at = clock::now();
  for (size_t left = s.is_ready ? ready_.size() : 0; left > 0; --left)
    if (message_stream* const one = ready_.pop_front(); one != &s) ready_.push_back(one);
  s.is_ready = false;
  mark_busy(s);
}

void stream_port::drop_unread(message_stream& s) {
  while (s.first != nullptr) endpoint_->give_back(*std::exchange(s.first, s.first->next));
  s.last = nullptr;
  s.taken = s.arrived;
}

// --- reading and writing ---

ssize_t stream_port::read(message_stream& s, const iovec* to, int n) {
  const attempt lock(lock_);
  if (lock.failed()) return no_bytes(EAGAIN);
  size_t total = 0, filled = 0;
  for (int i = 0; i < n && s.first != nullptr;) {
    datagram& d = *s.first;
    const size_t size = std::min(d.size - d.begin, to[i].iov_len - filled);
    std::memcpy(static_cast<std::byte*>(to[i].iov_base) + filled, d.data + d.begin, size);
    d.begin += size;
    filled += size;
    total += size;
    if (filled == to[i].iov_len) {
      ++i;
      filled = 0;
    }
    if (d.begin < d.size) continue;
    s.first = d.next;
    endpoint_->give_back(d);
    ++s.taken;
  }
  if (s.first == nullptr) s.last = nullptr;
  if (total > 0) {
    if (owes_acknowledgement(s) && !send_short(s, sequel::none)) mark_busy(s);
    return static_cast<ssize_t>(total);
  }
  if (s.first != nullptr) return no_bytes(EAGAIN);  // `to` has no space
  if (s.has_news) s.has_news = false;
  if (s.end_arrived) return 0;
  return no_bytes(s.error != 0 ? s.error : EAGAIN);
}

ssize_t stream_port::write(message_stream& s, const iovec* from, int n) {
  const attempt lock(lock_);
  if (lock.failed()) return no_bytes(EAGAIN);
  if (s.error != 0 || s.is_cut) return no_bytes(s.error != 0 ? s.error : EPIPE);
  const size_t room = endpoint_->longest() - sizeof(datagram_head);
  size_t total = 0, used = 0;
  int i = 0;
  while (i < n && from[i].iov_len == 0) ++i;
  while (i < n && may_send(s) && s.sent - s.acknowledged < window) {
    datagram* const buffer = buffer_if_memory();
    if (buffer == nullptr) break;
    datagram& d = *buffer;
    d.size = sizeof(datagram_head);
    while (i < n && d.size - sizeof(datagram_head) < room) {
      const size_t size = std::min(from[i].iov_len - used, room - (d.size - sizeof(datagram_head)));
      std::memcpy(d.data + d.size, static_cast<const std::byte*>(from[i].iov_base) + used, size);
      d.size += size;
      used += size;
      if (used == from[i].iov_len) {
        ++i;
        used = 0;
      }
    }
    const size_t size = d.size - sizeof(datagram_head);
    const int error = send(s, d, sequel::data);
    if (error != 0) {
      if (error == EAGAIN) break;
      fail(s, error);
      return no_bytes(error);
    }
    total += size;
  }
  if (total > 0) return static_cast<ssize_t>(total);
  return no_bytes(EAGAIN);
}

void stream_port::end(message_stream& s) {
  std::lock_guard guard(lock_);
  s.end_wanted = true;
  mark_busy(s);
  advance(s);
}

void stream_port::abort(message_stream& s) {
  std::lock_guard guard(lock_);
  // Who has read the end still acknowledges it.
  s.is_cut = true;
  if (!s.end_arrived) fail(s, ECONNABORTED);
}

bool stream_port::is_read(message_stream& s) {
  std::lock_guard guard(lock_);
  return s.error != 0 || (s.end_sent && s.acknowledged == s.sent);
}

// --- datagrams ---

int stream_port::send(message_stream& s, datagram& d, sequel what) {
  datagram_head head{};
  std::memcpy(head.token, s.their_token.data(), sizeof head.token);
  head.number = s.their_number;
  head.sequence = s.sent;
  head.acknowledged = s.taken;
  head.what = static_cast<uint32_t>(what);
  std::memcpy(d.data, &head, sizeof head);
  const int error = endpoint_->send(s.to, d, &s);
  if (error != 0) {
    endpoint_->give_back(d);
    return error;
  }
  ++s.under_way;
  s.told = s.taken;
  if (what != sequel::none) ++s.sent;
  return 0;
}

datagram* stream_port::buffer_if_memory() {
  try {
    return &endpoint_->buffer();
  } catch (const std::bad_alloc&) {
  } catch (const resource_error&) {
  }
  return nullptr;
}

bool stream_port::send_short(message_stream& s, sequel what) {
  datagram* const d = buffer_if_memory();
  if (d == nullptr) return false;
  d->size = sizeof(datagram_head);
  const int error = send(s, *d, what);
  if (error != 0 && error != EAGAIN) fail(s, error);
  return error == 0;
}

bool stream_port::owes_acknowledgement(const message_stream& s) const {
  if (!may_send(s)) return false;
  return s.taken - s.told >= window / 2 || (s.end_arrived && s.taken == s.arrived && s.told != s.taken);
}

void stream_port::on_sent(void* user, int error) {
  message_stream& s = *static_cast<message_stream*>(user);
  --s.under_way;
  if (error != 0) fail(s, error);
}

void stream_port::on_datagram(datagram& d) {
  datagram_head head;
  if (d.size >= sizeof head) {
    std::memcpy(&head, d.data, sizeof head);
    nonce token;
    std::memcpy(token.data(), head.token, sizeof head.token);
    const auto at = streams_.find(head.number);
    if (at != streams_.end() && equal(at->second->token, token) && take(*at->second, d)) return;
  }
  endpoint_->give_back(d);
}

bool stream_port::take(message_stream& s, datagram& d) {
  datagram_head head;
  std::memcpy(&head, d.data, sizeof head);
  if (s.error != 0) return false;
  s.heard = true;
  if (head.acknowledged - s.acknowledged > s.sent - s.acknowledged) {
    fail(s, EPROTO);
    return false;
  }
  s.acknowledged = head.acknowledged;
  if (head.what == static_cast<uint32_t>(sequel::none)) return false;
  // Before the peer's offer was read, too: its datagrams may arrive earlier.
  if (head.sequence != s.arrived || s.end_arrived || s.arrived - s.taken >= window) {
    fail(s, EPROTO);
    return false;
  }
  ++s.arrived;
  if (head.what == static_cast<uint32_t>(sequel::end) || s.is_closed || d.size == sizeof head) {
    ++s.taken;
    if (head.what == static_cast<uint32_t>(sequel::end)) s.end_arrived = s.has_news = true;
    if (owes_acknowledgement(s)) mark_busy(s);
    if (!s.is_closed) mark_ready(s);
    return false;
  }
  d.begin = sizeof head;
  d.next = nullptr;
  (s.first == nullptr ? s.first : s.last->next) = &d;
  s.last = &d;
  mark_ready(s);
  return true;
}

// --- progress ---

void stream_port::fail(message_stream& s, int error) {
  if (s.error != 0) return;
  s.error = error;
  s.socket = socket_handle();
  s.has_news = true;
  if (!s.is_closed) mark_ready(s);
}

void stream_port::mark_ready(message_stream& s) {
  if (std::exchange(s.is_ready, true)) return;
  ready_.push_back(&s);
}

void stream_port::mark_busy(message_stream& s) {
  if (std::exchange(s.is_busy, true)) return;
  busy_.push_back(&s);
}

void stream_port::read_offer(message_stream& s) {
  if (s.offer.size() < sizeof(offer_record)) {  // else there was no memory for the peer's name
    char bytes[sizeof(offer_record)];
    const ssize_t n = recv(s.socket.get(), bytes, sizeof bytes - s.offer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM || errno == ENOBUFS)) return;
    if (n <= 0) return fail(s, ECONNRESET);
    s.offer.append(bytes, static_cast<size_t>(n));
    if (s.offer.size() < sizeof(offer_record)) return;
  }
  offer_record r;
  std::memcpy(&r, s.offer.data(), sizeof r);
  if (std::memcmp(r.magic, offer_magic, sizeof r.magic) != 0 || r.name_size > sizeof r.name) return fail(s, EPROTO);
  try {
    s.to = endpoint_->add_peer({r.name, r.name_size});
  } catch (const std::bad_alloc&) {
    return;  // the next poll tries again
  } catch (const resource_error& e) {
    log_warning(e.what());
    return fail(s, EADDRNOTAVAIL);
  }
  s.their_number = r.number;
  std::memcpy(s.their_token.data(), r.token, sizeof r.token);
  s.socket = socket_handle();
  s.is_open = s.greeting_due = true;
}

void stream_port::advance(message_stream& s) {
  if (s.error == 0 && !s.is_open && !s.is_closed) read_offer(s);
  if (!may_send(s)) return;
  if (s.greeting_due && send_short(s, sequel::none)) s.greeting_due = false;
  if (s.error == 0 && s.end_wanted && !s.end_sent && s.sent - s.acknowledged < window)
    s.end_sent = send_short(s, sequel::end);
  if (owes_acknowledgement(s)) (void)send_short(s, sequel::none);
}

bool stream_port::may_free(const message_stream& s) const {
  if (!s.is_closed || s.under_way > 0) return false;
  const bool is_quiet = s.error != 0 || !s.is_open || (!owes_acknowledgement(s) && s.end_wanted == s.end_sent);
  return is_quiet || clock::now() - s.closed_at > longest_farewell;
}

void stream_port::advance_all() {
  for (size_t i = 0; i < busy_.size();) {
    message_stream& s = *busy_[i];
    advance(s);
    const bool is_over = may_free(s);
    const bool waits = !s.is_closed && s.error == 0 &&
                       (!s.heard || s.greeting_due || s.end_wanted != s.end_sent || owes_acknowledgement(s));
    if (!is_over && (waits || s.is_closed)) {
      ++i;
      continue;
    }
    s.is_busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
    if (!is_over) continue;
    if (s.is_open) endpoint_->remove_peer(s.to);
    streams_.erase(s.number);
  }
}

int stream_port::poll(std::array<int, most_ready>* ready) {
  const attempt lock(lock_);
  if (lock.failed()) return -1;
  const int n_events = endpoint_->poll(*this);
  if (!busy_.empty()) advance_all();
  if (ready == nullptr) return n_events;
  int n = 0;
  for (size_t left = std::min(ready_.size(), most_ready); left > 0; --left) {
    message_stream& s = *ready_.pop_front();
    s.is_ready = s.first != nullptr || s.has_news;
    if (!s.is_ready) continue;
    ready_.push_back(&s);
    (*ready)[static_cast<size_t>(n++)] = s.peer;
  }
  return n;
}

bool stream_port::is_busy() {
  const attempt lock(lock_);
  return lock.failed() || !busy_.empty();
}

int64_t stream_port::longest_sleep_us() {
  const attempt lock(lock_);
  if (lock.failed() || ready_.size() > 0 || !endpoint_->may_sleep()) return 0;
  return busy_.empty() && endpoint_->wait_fd() >= 0 ? longest_sleep_us_of_port : sleep_while_busy_us;
}

}  // namespace lci::network::outside
