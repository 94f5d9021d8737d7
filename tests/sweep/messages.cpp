// Active messages, sends and receives, of all protocols.
#include <cstdlib>

#include "tests/sweep/flow.hpp"
#include "tests/sweep/scenarios.hpp"

namespace sweep {

namespace {

void mark(lci::status_t s) {
  const int i = static_cast<int>(s.tag);
  if (i >= n_messages) fail("a message with tag %d", i);
  if (s.is_done() && !is_content(i, s.buffer, s.size)) fail("message %d has wrong content", i);
  page->outcomes[1][static_cast<size_t>(i)].store(s.is_done() ? outcome::good : outcome::failed);
}

void mark_and_free(lci::status_t s) {
  mark(s);
  if (s.size > 0) std::free(s.buffer);
}

constexpr auto memory = lci::comp_semantic_t::memory;
constexpr auto network = lci::comp_semantic_t::network;
constexpr auto remote = lci::comp_semantic_t::remote;

promise of(lci::comp_semantic_t semantic) { return semantic == remote ? promise::delivered : promise::buffer_is_free; }

/// Registers `target` and returns the handle of the peer.
lci::rcomp_t share(lci::comp_t target) {
  page->words[static_cast<size_t>(me)].store(lci::register_rcomp(target));
  meet();
  return static_cast<lci::rcomp_t>(page->words[static_cast<size_t>(peer())].load());
}
void unshare() {
  meet();
  lci::deregister_rcomp(static_cast<lci::rcomp_t>(page->words[static_cast<size_t>(me)].load()));
}

void am_to(lci::comp_t target, lci::comp_semantic_t semantic, bool retry, lci::stream_t stream = {}) {
  auto sent = lci::alloc_cq();
  const auto to = share(target);
  flow(
      of(semantic), sent,
      [&](int i) {
        return lci::post_am_x(peer(), content_of(i), size_of(i), sent, to)
            .tag(static_cast<lci::tag_t>(i))
            .comp_semantic(semantic)
            .user_context(context_of(i))
            .allow_retry(retry)
            .stream(stream)();
      },
      [] {},
      [&] {
        if (target.get_attr_comp_type() != lci::attr_comp_type_t::cq) return;
        for (lci::status_t s; !(s = lci::cq_pop(target)).is_retry();) mark_and_free(s);
      });
  unshare();
  lci::free_comp(&sent);
  lci::free_comp(&target);
}

lci::comp_t in_place() { return lci::alloc_handler_x(mark).am_in_place(true)(); }
lci::comp_t with_copy() { return lci::alloc_handler_x(mark_and_free)(); }

void send_to(lci::comp_semantic_t semantic, bool retry, bool late) {
  auto sent = lci::alloc_cq(), received = lci::alloc_cq();
  flow(
      of(semantic), sent,
      [&](int i) {
        return lci::post_send_x(peer(), content_of(i), size_of(i), static_cast<lci::tag_t>(i), sent)
            .comp_semantic(semantic)
            .user_context(context_of(i))
            .allow_retry(retry)();
      },
      [&] {
        for (int i = 0; i < n_messages && !is_broken(); ++i)
          insist_unless_broken("post_recv", [&] {
            lci::status_t s;
            until("a receive", [&] {
              s = lci::post_recv_x(peer(), buffer_for(i), size_of(i), static_cast<lci::tag_t>(i), received)();
              return !s.is_retry();
            });
            if (!s.is_posted()) mark(s);
          });
      },
      [&] {
        for (lci::status_t s; !(s = lci::cq_pop(received)).is_retry();) mark(s);
      },
      late);
  // Receives of messages that were refused are still posted, and end with the runtime.
  lci::free_comp(&sent);
}

}  // namespace

void am() { am_to(in_place(), memory, true); }
void am_kept() { am_to(with_copy(), memory, true); }
void am_queue() { am_to(lci::alloc_cq(), memory, false); }
void am_network() { am_to(in_place(), network, false); }
void am_remote() { am_to(with_copy(), remote, true); }
void am_remote_backlog() { am_to(in_place(), remote, false); }
void send() { send_to(memory, true, false); }
void send_backlog() { send_to(memory, false, false); }
void send_late() { send_to(memory, true, true); }
void send_remote() { send_to(remote, true, false); }
void send_remote_late() { send_to(remote, true, true); }

void stream() {
  auto s = lci::alloc_stream();
  am_to(with_copy(), memory, true, s);
  lci::free_stream(&s);
}
void stream_window() {
  auto s = lci::alloc_stream_x().window(4)();
  am_to(with_copy(), memory, false, s);
  am_to(with_copy(), remote, false, s);
  lci::free_stream(&s);
}
void stream_remote() {
  auto s = lci::alloc_stream();
  am_to(in_place(), remote, false, s);
  lci::free_stream(&s);
}

}  // namespace sweep
