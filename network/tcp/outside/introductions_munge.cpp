// Handshakes with munge: each continues when the thread that requests credentials has an answer.
#include <sys/epoll.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "network/tcp/outside/introductions.hpp"

namespace lci::network::outside {

namespace {

constexpr uint32_t readable = EPOLLIN | EPOLLRDHUP;
constexpr const char* no_answer = "munged does not answer";

}  // namespace

bool introductions::request(waiting who, uint32_t& ticket, int fd, munge_request what) {
  const uint64_t mark = who.is_outbound ? outbound_mark : inbound_mark;
  if (!watch(events_, fd, 0, mark | who.number, false)) return false;
  try {
    if (munge_ == nullptr) munge_ = std::make_unique<munge_thread>(keys_, events_, munge_mark);
    ticket = munge_->request(std::move(what));
  } catch (const std::runtime_error& e) {  // no descriptor, or no thread
    log_warning(std::string("tcp: no credential can be requested from munged: ") + e.what());
    return false;
  }
  tickets_[ticket] = who;
  return true;
}

bool introductions::request(inbound& c, munge_request what) {
  what.hello = c.first;
  what.of_server = c.fresh;
  const int fd = c.socket.get();
  return request({false, static_cast<uint32_t>(fd)}, c.ticket, fd, std::move(what));
}

void introductions::cancel(uint32_t& ticket) {
  if (ticket == 0) return;
  munge_->cancel(ticket);
  tickets_.erase(ticket);
  ticket = 0;
}

void introductions::take_credential(uint32_t number, outbound& c) {
  munge_request r;
  r.their_role = server_role;
  r.theirs = std::move(c.bytes);
  r.own_role = client_role;
  r.hello = c.first;
  r.of_server = c.of_server;
  c.bytes.clear();
  c.at = step::awaits_munged;
  if (!request({true, number}, c.ticket, c.socket.get(), std::move(r))) try_again(number, no_answer);
}

void introductions::handle_answers() {
  for (const munge_answer& a : munge_->take()) {
    const auto at = tickets_.find(a.ticket);
    if (at == tickets_.end()) continue;  // cancelled by what an answer before it has caused
    const waiting who = at->second;
    tickets_.erase(at);
    if (who.is_outbound)
      continue_outbound(who.number, a);
    else
      continue_inbound(inbound_by_descriptor_.at(static_cast<int>(who.number)), a);
  }
}

void introductions::continue_inbound(inbound_list::iterator c, const munge_answer& a) {
  c->ticket = 0;
  const int fd = c->socket.get();
  if (c->vouched && a.theirs == confirmation::yes) return accept(c);
  if (a.own.empty()) {
    // If munged does not answer, the peer tries again.
    outcome no;
    no.what = verdict::wrong_user;
    if (a.theirs == confirmation::no) send_short(fd, encode(no));
    return drop(c);
  }
  challenge said;
  said.fresh = c->fresh;
  c->vouched = true;
  c->bytes.clear();
  if (!send_short(fd, encode(said) + a.own) ||
      !watch(events_, fd, readable, inbound_mark | static_cast<uint32_t>(fd), false))
    return drop(c);
  advance(c);
}

void introductions::continue_outbound(uint32_t number, const munge_answer& a) {
  outbound& c = outbound_.at(number);
  c.ticket = 0;
  if (a.theirs == confirmation::no) return give_up(number, true, explain(verdict::wrong_user));
  if (a.own.empty()) return try_again(number, no_answer);
  const int fd = c.socket.get();
  if (!send_short(fd, a.own) || !watch(events_, fd, readable, outbound_mark | number, false))
    return try_again(number, "it has closed the connection");
  c.at = step::awaits_outcome;
  advance(number);
}

}  // namespace lci::network::outside
