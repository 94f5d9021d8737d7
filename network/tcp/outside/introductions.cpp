#include "network/tcp/outside/introductions.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/memory.hpp"
#include "network/tcp/endpoint.hpp"

namespace lci::network::outside {

namespace {

constexpr std::chrono::seconds longest_silence{10};
constexpr std::chrono::seconds usual_time{1};
constexpr std::chrono::milliseconds pause{50};
constexpr size_t most_inbound = 128;

enum class arrival : uint8_t { whole, partial, over };

/// Reads up to `size` bytes altogether, and never more.
arrival receive(int fd, std::string& bytes, size_t size) {
  char some[128];
  while (bytes.size() < size) {
    const ssize_t n = recv(fd, some, std::min(sizeof some, size - bytes.size()), MSG_DONTWAIT);
    if (n > 0) {
      bytes.append(some, static_cast<size_t>(n));
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      return n < 0 && (errno == EAGAIN || lacks_memory(errno)) ? arrival::partial : arrival::over;
    }
  }
  return arrival::whole;
}

verdict refusal_of(auth theirs, auth ours) {
  if (ours == auth::munge) return verdict::needs_munge;
  if (ours == auth::secret) return verdict::needs_key;
  return theirs == auth::munge ? verdict::has_no_munge : verdict::has_no_key;
}

}  // namespace

bool send_short(int fd, const std::string& bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

bool watch(int epoll, int fd, uint32_t events, uint64_t mark, bool is_new) {
  epoll_event e{};
  e.events = events;
  e.data.u64 = mark;
  return epoll_ctl(epoll, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e) == 0;
}

// --- the accepting side ---

void introductions::add_inbound(size_t listener, socket_handle socket) {
  while (inbound_.size() >= most_inbound) drop(inbound_.begin());
  const int fd = socket.get();
  prepare_for_messages(fd);
  if (!watch(events_, fd, EPOLLIN | EPOLLRDHUP, inbound_mark | static_cast<uint32_t>(fd), true)) return;
  inbound_.emplace_back();
  inbound_.back().socket = std::move(socket);
  inbound_.back().listener = listener;
  inbound_.back().since = clock::now();
  inbound_by_descriptor_[fd] = std::prev(inbound_.end());
  advance(std::prev(inbound_.end()));
}

bool introductions::drop_slow_inbound() {
  if (inbound_.empty() || clock::now() - inbound_.front().since < usual_time) return false;
  drop(inbound_.begin());
  return true;
}

void introductions::drop(inbound_list::iterator c) {
  cancel(c->ticket);
  inbound_by_descriptor_.erase(c->socket.get());
  inbound_.erase(c);
}

void introductions::advance(inbound_list::iterator c) {
  if (c->ticket != 0) return drop(c);  // meanwhile only the failure of the connection is an event
  for (;;) {
    const bool greeted = !c->first.empty();
    const size_t of_proof = keys_.how() == auth::munge ? credential_size : proof_size;
    switch (receive(c->socket.get(), c->bytes, greeted ? of_proof : hello_size)) {
      case arrival::partial:
        return;
      case arrival::over:
        return drop(c);
      case arrival::whole:
        break;
    }
    if (!(greeted ? take_proof(*c) : take_hello(*c))) return drop(c);
    if (c->ticket != 0) return;
    if (greeted) return accept(c);
  }
}

void introductions::accept(inbound_list::iterator c) {
  socket_handle socket = std::move(c->socket);
  const hello said = c->said;
  const size_t listener = c->listener;
  inbound_by_descriptor_.erase(socket.get());
  inbound_.erase(c);
  epoll_ctl(events_, EPOLL_CTL_DEL, socket.get(), nullptr);
  owner_.on_accepted(said, listener, std::move(socket));
}

bool introductions::take_hello(inbound& c) {
  if (!decode(c.bytes, c.said)) return false;
  c.first = std::move(c.bytes);
  c.bytes.clear();
  c.fresh = new_nonce();
  challenge answer;
  answer.fresh = c.fresh;
  if (c.said.how != keys_.how()) {
    answer.what = refusal_of(c.said.how, keys_.how());
  } else if (keys_.how() == auth::munge) {
    munge_request r;
    r.own_role = server_role;
    return request(c, std::move(r));
  } else {
    answer.of_server = keys_.prove(server_role, c.first, c.fresh);
  }
  return send_short(c.socket.get(), encode(answer)) && answer.what == verdict::good;
}

bool introductions::take_proof(inbound& c) {
  if (keys_.how() == auth::munge) {
    munge_request r;
    r.their_role = client_role;
    r.theirs = std::move(c.bytes);
    return request(c, std::move(r));
  }
  proof theirs;
  if (!decode(c.bytes, theirs)) return false;
  if (!keys_.has_key() || equal(theirs, keys_.prove(client_role, c.first, c.fresh))) return true;
  outcome no;
  no.what = verdict::wrong_key;
  send_short(c.socket.get(), encode(no));
  return false;
}

// --- the connecting side ---

void introductions::connect(const std::vector<sockaddr_storage>& to, const hello& what, clock::time_point deadline) {
  const uint32_t number = next_attempt_++;
  outbound& c = outbound_[number];
  c.to = to;
  c.what = what;
  c.deadline = deadline;
  try_to_connect(number);
}

void introductions::try_to_connect(uint32_t number) {
  outbound& c = outbound_.at(number);
  c.bytes.clear();
  c.socket = begin_to_connect(c.to[c.next], c.what.what == purpose::control ? timeout_ : std::chrono::milliseconds(0));
  const int fd = c.socket.get();
  if (fd < 0) return try_next_address(number, errno);
  c.at = step::connecting;
  if (!watch(events_, fd, EPOLLOUT, outbound_mark | number, true)) try_again(number, std::strerror(errno));
}

void introductions::try_next_address(uint32_t number, int error) {
  outbound& c = outbound_.at(number);
  c.socket = socket_handle();
  c.trouble = std::strerror(error);
  if (lacks_resources(error) || may_pass(error)) return try_again(number, c.trouble);
  if (++c.next < c.to.size()) return try_to_connect(number);
  give_up(number, false,
          error == ECONNREFUSED ? "nobody listens there: the runtime has ended, or the port is wrong" : c.trouble);
}

void introductions::try_again(uint32_t number, const std::string& trouble) {
  outbound& c = outbound_.at(number);
  cancel(c.ticket);
  c.socket = socket_handle();
  c.at = step::pausing;
  c.trouble = trouble;
  c.again = clock::now() + pause;
}

void introductions::abandon(uint32_t attempt) {
  const auto at = outbound_.find(attempt);
  if (at == outbound_.end()) return;
  cancel(at->second.ticket);
  outbound_.erase(at);
}

void introductions::give_up(uint32_t number, bool refused, const std::string& reason) {
  abandon(number);
  owner_.on_connect_failed(number, refused, reason);
}

void introductions::advance(uint32_t number) {
  const auto at = outbound_.find(number);
  if (at == outbound_.end() || at->second.socket.get() < 0) return;
  outbound& c = at->second;
  const int fd = c.socket.get();
  if (c.at == step::awaits_munged) return try_again(number, "it has closed the connection");
  if (c.at == step::connecting) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return try_next_address(number, error);
    prepare_for_messages(fd);
    c.what.fresh = new_nonce();
    c.first = encode(c.what);
    if (!send_short(fd, c.first)) return try_again(number, "it has closed the connection");
    c.at = step::awaits_challenge;
    (void)watch(events_, fd, EPOLLIN | EPOLLRDHUP, outbound_mark | number, false);
  }
  while (c.at != step::awaits_address || c.bytes.size() < c.answer.address_size) {
    const bool begins = c.at == step::awaits_challenge;
    const size_t size = begins                            ? challenge_size
                        : c.at == step::awaits_credential ? credential_size
                        : c.at == step::awaits_outcome    ? outcome_size
                                                          : c.answer.address_size;
    const arrival so_far = receive(fd, c.bytes, size);
    if (so_far == arrival::partial) return;
    if (so_far == arrival::over) return try_again(number, "it closes connections before it answers");
    if (begins) {
      if (!take_challenge(number, c)) return;
    } else if (c.at == step::awaits_credential) {
      return take_credential(number, c);
    } else if (c.at == step::awaits_outcome) {
      if (!decode(c.bytes, c.answer)) return give_up(number, true, "another program listens there");
      if (c.answer.what > verdict::self) return give_up(number, true, explain(c.answer.what));
      c.at = step::awaits_address;
      c.bytes.clear();
    }
  }
  finish(number);
}

bool introductions::take_challenge(uint32_t number, outbound& c) {
  challenge said;
  if (!decode(c.bytes, said)) {
    give_up(number, true, "another program, or another version of LCI, listens there");
    return false;
  }
  if (said.what != verdict::good) {
    give_up(number, true, explain(said.what));
    return false;
  }
  c.bytes.clear();
  if (keys_.how() == auth::munge) {
    c.of_server = said.fresh;
    c.at = step::awaits_credential;
    return true;
  }
  if (keys_.has_key() && !equal(said.of_server, keys_.prove(server_role, c.first, said.fresh))) {
    give_up(number, true, explain(verdict::wrong_key));
    return false;
  }
  if (!send_short(c.socket.get(), encode(keys_.prove(client_role, c.first, said.fresh)))) {
    try_again(number, "it has closed the connection");
    return false;
  }
  c.at = step::awaits_outcome;
  return true;
}

void introductions::finish(uint32_t number) {
  outbound c = std::move(outbound_.at(number));
  outbound_.erase(number);
  epoll_ctl(events_, EPOLL_CTL_DEL, c.socket.get(), nullptr);
  owner_.on_outcome(number, c.answer, c.bytes, std::move(c.socket));
}

// --- both ---

void introductions::handle(uint64_t mark) {
  const auto low = static_cast<uint32_t>(mark);
  if (mark >> 32 == outbound_mark >> 32) return advance(low);
  if (mark == munge_mark) return handle_answers();
  const auto at = inbound_by_descriptor_.find(static_cast<int>(low));
  if (at != inbound_by_descriptor_.end()) advance(at->second);
}

void introductions::handle_due() {
  const auto now = clock::now();
  while (!inbound_.empty() && now - inbound_.front().since > longest_silence) drop(inbound_.begin());
  std::vector<uint32_t> again, late;
  for (const auto& [number, c] : outbound_) {
    if (now > c.deadline)
      late.push_back(number);
    else if (c.at == step::pausing && now >= c.again)
      again.push_back(number);
  }
  // Upon the end of one attempt the owner may abandon others.
  for (const uint32_t number : late) {
    const auto at = outbound_.find(number);
    if (at == outbound_.end()) continue;
    const std::string trouble = at->second.trouble;
    give_up(number, false, trouble.empty() ? "it does not answer" : trouble);
  }
  for (const uint32_t number : again)
    if (outbound_.count(number) != 0) try_to_connect(number);
}

}  // namespace lci::network::outside
