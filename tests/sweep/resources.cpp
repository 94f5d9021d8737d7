// Allocation of resources, and operations that consist of many others.
#include <array>
#include <cstring>

#include "tests/sweep/flow.hpp"
#include "tests/sweep/scenarios.hpp"

namespace sweep {

namespace {

/// Allocates an object, repeated until that succeeds, and frees it.
template <class Alloc, class Free>
void come_and_go(const char* what, Alloc alloc, Free free) {
  decltype(alloc()) handle;
  insist(what, [&] { handle = alloc(); });
  insist("freeing it", [&] { free(&handle); });
}

void nothing(lci::status_t) {}

}  // namespace

void resources() {
  arm(me);
  const auto free_comp = [](lci::comp_t* c) { lci::free_comp(c); };
  come_and_go(
      "alloc_sync", [] { return lci::alloc_sync_x().threshold(40)(); }, free_comp);
  come_and_go(
      "alloc_counter", [] { return lci::alloc_counter(); }, free_comp);
  come_and_go(
      "alloc_cq", [] { return lci::alloc_cq(); }, free_comp);
  come_and_go(
      "alloc_cq, bounded", [] { return lci::alloc_cq_x().default_length(100)(); }, free_comp);
  come_and_go(
      "alloc_handler", [] { return lci::alloc_handler(nothing); }, free_comp);
  come_and_go(
      "alloc_graph", [] { return lci::alloc_graph(); }, free_comp);
  come_and_go(
      "alloc_stream", [] { return lci::alloc_stream(); }, [](lci::stream_t* s) { lci::free_stream(s); });
  come_and_go(
      "alloc_endpoint", [] { return lci::alloc_endpoint(); }, [](lci::endpoint_t* e) { lci::free_endpoint(e); });
  come_and_go(
      "alloc_packet_pool", [] { return lci::alloc_packet_pool_x().npackets(100)(); },
      [](lci::packet_pool_t* p) { lci::free_packet_pool(p); });
  come_and_go(
      "alloc_matching_engine", [] { return lci::alloc_matching_engine(); },
      [](lci::matching_engine_t* e) { lci::free_matching_engine(e); });
  come_and_go(
      "alloc_progress_thread", [] { return lci::alloc_progress_thread(); },
      [](lci::progress_thread_t* t) { lci::free_progress_thread(t); });
  // Long completion queues, and registered handles.
  lci::comp_t queue;
  insist("alloc_cq", [&] { queue = lci::alloc_cq(); });
  constexpr int many = 3000;
  for (int i = 0; i < many; ++i)
    insist("comp_signal", [&] { lci::comp_signal(queue, lci::status_t(lci::errorcode_t::done)); });
  int popped = 0;
  for (; lci::cq_pop(queue).is_done(); ++popped) {
  }
  if (popped != many) fail("of %d signals %d are in the queue", many, popped);
  std::array<lci::rcomp_t, 300> handles;
  for (lci::rcomp_t& h : handles) insist("register_rcomp", [&] { h = lci::register_rcomp(queue); });
  for (lci::rcomp_t h : handles) insist("deregister_rcomp", [&] { lci::deregister_rcomp(h); });
  insist("free_comp", [&] { lci::free_comp(&queue); });
  disarm();
}

void registration() {
  arm(me);
  std::array<lci::mr_t, 40> all;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < all.size(); ++i)
      insist("register_memory", [&] { all[i] = lci::register_memory(buffer_for(0) + 4096 * i, 5000); });
    for (lci::mr_t& mr : all) insist("deregister_memory", [&] { lci::deregister_memory(&mr); });
  }
  for (int i = 0; i < 4; ++i) {
    lci::mr_t shared;
    insist("alloc_shared", [&] { shared = lci::alloc_shared(100000); });
    std::memset(lci::get_mr_base(shared), 1, 100000);
    insist("free_shared", [&] { lci::free_shared(&shared); });
  }
  disarm();
}

void device() {
  arm(me);
  lci::device_t d;
  insist("alloc_device", [&] { d = lci::alloc_device(); });
  disarm();
  meet();
  // The second devices of both ranks exchange a message.
  auto cq = lci::alloc_cq();
  std::array<char, 8> in{};
  const auto posted = lci::post_recv_x(peer(), in.data(), in.size(), 500, cq).device(d)();
  until("a send through the second device", [&] {
    (void)lci::progress_x().device(d)();
    return lci::post_send_x(peer(), content_of(0), in.size(), 500, lci::COMP_NULL_RETRY).device(d)().is_done();
  });
  if (posted.is_posted())
    until("a message through the second device", [&] {
      (void)lci::progress_x().device(d)();
      return lci::cq_pop(cq).is_done();
    });
  if (!is_content(0, in.data(), in.size())) fail("another message came through the second device");
  meet();
  arm(me);
  insist("free_device", [&] { lci::free_device(&d); });
  disarm();
  lci::free_comp(&cq);
}

void engine() {
  // Many messages with one key, and many keys, in both directions.
  lci::matching_engine_t e = lci::alloc_matching_engine();
  auto sent = lci::alloc_cq(), received = lci::alloc_cq();
  constexpr int many = 600;
  const auto tag_of = [](int i) { return static_cast<lci::tag_t>(i % 2 == 0 ? 7 : 1000 + i); };
  std::array<char, 8> in{};
  meet();
  arm(me);
  int posted = 0, come = 0;
  for (int i = 0; i < many; ++i)
    insist("post_recv", [&] {
      lci::status_t s;
      until("a receive", [&] {
        s = lci::post_recv_x(peer(), in.data(), in.size(), tag_of(i), received).matching_engine(e)();
        return !s.is_retry();
      });
      posted += s.is_posted();
      come += s.is_done();
    });
  for (int i = 0; i < many; ++i)
    insist("post_send", [&] {
      until("a send", [&] {
        return lci::post_send_x(peer(), content_of(0), in.size(), tag_of(i), lci::COMP_NULL_RETRY)
            .matching_engine(e)()
            .is_done();
      });
    });
  until("all sends to match", [&] {
    for (lci::status_t s; !(s = lci::cq_pop(received)).is_retry();) ++come;
    return come + page->exceptions[static_cast<size_t>(me)].load() >= many;
  });
  disarm();
  meet();
  lci::free_matching_engine(&e);
  lci::free_comp(&received);
  lci::free_comp(&sent);
}

void collectives() {
  arm(me);
  std::array<uint64_t, 2> all{};
  const uint64_t mine = static_cast<uint64_t>(me) + 1;
  const uint64_t total = n_ranks == 1 ? 1 : 3;
  static std::array<uint64_t, 20000> large, sum;
  for (int round = 0; round < 3; ++round) {
    insist("barrier", [] { lci::barrier(); });
    insist("allgather", [&] { lci::allgather(&mine, all.data(), sizeof mine); });
    if (all[0] != 1 || (n_ranks == 2 && all[1] != 2)) fail("allgather is wrong");
    uint64_t root = mine;
    insist("broadcast", [&] { lci::broadcast(&root, sizeof root, 0); });
    if (root != 1) fail("broadcast is wrong");
    large.fill(mine);
    insist("allreduce", [&] {
      lci::allreduce(large.data(), sum.data(), large.size(), sizeof(uint64_t),
                     [](const void* a, const void* b, void* r, size_t n) {
                       for (size_t i = 0; i < n; ++i)
                         static_cast<uint64_t*>(r)[i] =
                             static_cast<const uint64_t*>(a)[i] + static_cast<const uint64_t*>(b)[i];
                     });
    });
    for (const uint64_t s : sum)
      if (s != total) fail("allreduce is wrong");
    insist("alltoall", [&] { lci::alltoall(large.data(), sum.data(), 40000); });
  }
  disarm();
}

void graph() {
  meet();
  arm(me);
  static std::array<char, 8> in;  // static: operations in flight at the end of this function still write to it
  static int runs;
  runs = 0;
  lci::comp_t g;
  // A graph that could not be built is freed.
  bool built = false;
  for (int i = 0; i < 100 && !built; ++i) {
    insist("alloc_graph", [&] { g = lci::alloc_graph(); });
    built = attempt("building a graph", [&] {
      const auto receive =
          lci::graph_add_node_op(g, lci::post_recv_x(peer(), in.data(), in.size(), 600, lci::COMP_NULL));
      const auto send =
          lci::graph_add_node_op(g, lci::post_send_x(peer(), content_of(0), in.size(), 600, lci::COMP_NULL));
      const auto count = lci::graph_add_node(g, [](void*) -> lci::status_t {
        ++runs;
        return lci::errorcode_t::done;
      });
      lci::graph_add_edge(g, receive, count);
      lci::graph_add_edge(g, send, count);
      for (int n = 0; n < 20; ++n) {
        const auto other = lci::graph_add_node(g, [](void*) -> lci::status_t { return lci::errorcode_t::done; });
        lci::graph_add_edge(g, count, other);
      }
    });
    if (!built) insist("free_comp of a graph", [&] { lci::free_comp(&g); });
  }
  int good = 0, bad = 0;
  for (int step = 0; step < 3; ++step) {
    // A start that throws has no effect; a graph that ends with an error has reported it.
    if (!attempt("graph_start", [&] { lci::graph_start(g); })) {
      ++bad;
      continue;
    }
    lci::status_t s;
    bool thrown = false;
    until("a graph to end", [&] {
      thrown = !attempt("graph_test", [&] { s = lci::graph_test(g); });
      return thrown || !s.is_retry() || page->ended[static_cast<size_t>(peer())].load() > 0;
    });
    if (thrown || !s.is_done()) {
      ++bad;
      break;
    }
    ++good;
  }
  if (bad > 0) page->ended[static_cast<size_t>(me)].store(1);
  if (bad == 0 && good == 3 && runs != 3) fail("a node ran %d times", runs);
  disarm();
  if (bad > 0 || page->ended[static_cast<size_t>(peer())].load() > 0) return;  // the runtime ends the rest
  meet();
  lci::free_comp(&g);
}

void cancelling() {
  arm(me);
  auto cq = lci::comp_t();
  insist("alloc_cq", [&] { cq = lci::alloc_cq(); });
  static char in[8];
  for (int i = 0; i < 20; ++i) {
    lci::operation_t name;
    const auto post = [&](const char* what, lci::operation_t* to_name, double deadline) {
      insist(what, [&] {
        lci::status_t posted;
        until(what, [&] {
          auto receive = lci::post_recv_x(peer(), in, sizeof in, 700, cq).deadline(deadline);
          if (to_name != nullptr) receive.operation(to_name);
          return !(posted = receive()).is_retry();
        });
        if (!posted.is_posted()) fail("a receive without a matching message does not return posted");
      });
    };
    post("post_recv with a name", &name, i % 2 == 0 ? 100 : -1);
    insist("cancel", [&] { (void)lci::cancel(name); });
    lci::status_t s;
    until("a cancelled receive to end", [&] { return !(s = lci::cq_pop(cq)).is_retry(); });
    if (s.error.errorcode != lci::errorcode_t::cancelled)
      fail("a cancelled receive ends as %d", static_cast<int>(s.error.errorcode));
    post("post_recv with a deadline", nullptr, 0.001);
    until("a receive to time out", [&] { return !(s = lci::cq_pop(cq)).is_retry(); });
    if (s.error.errorcode != lci::errorcode_t::timed_out)
      fail("a receive beyond its deadline ends as %d", static_cast<int>(s.error.errorcode));
  }
  insist("free_comp", [&] { lci::free_comp(&cq); });
  disarm();
}

}  // namespace sweep
