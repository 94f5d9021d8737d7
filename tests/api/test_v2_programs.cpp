// What published programs do with a runtime, in their way.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <lci.hpp>

namespace {

int right() { return (lci::get_rank_me() + 1) % lci::get_rank_n(); }
int left() { return (lci::get_rank_me() + lci::get_rank_n() - 1) % lci::get_rank_n(); }

void wait_for(lci::comp_t sync, lci::status_t posted) {
  if (posted.is_posted()) lci::sync_wait(sync, nullptr);
}

/// An operation of the program as a node: sends and receives, and signals the graph itself.
class exchange_op {
 public:
  exchange_op(uint64_t* out, uint64_t* in) : out_(out), in_(in) {}
  exchange_op& user_context(void* node) {
    node_ = node;
    return *this;
  }
  lci::errorcode_t operator()() const {
    lci::comp_t sync = lci::alloc_sync();
    const auto receive = lci::post_recv(left(), in_, sizeof *in_, 5, sync);
    lci::post_send(right(), out_, sizeof *out_, 5, lci::COMP_NULL);
    wait_for(sync, receive);
    lci::free_comp(&sync);
    lci::comp_signal(graph, lci::status_t(node_));
    return lci::errorcode_t::posted;
  }
  static lci::comp_t graph;

 private:
  uint64_t *out_, *in_;
  void* node_ = nullptr;
};
lci::comp_t exchange_op::graph;

struct counted_op {
  int* runs;
  void user_context(void*) {}
  void operator()() { ++*runs; }
};

struct answer_op {
  int* runs;
  void user_context(void*) {}
  int operator()() const { return ++*runs; }
};

/// Returns retry twice.
struct hesitant_op {
  int* runs;
  void* node = nullptr;
  void user_context(void* n) { node = n; }
  lci::status_t operator()() { return ++*runs < 3 ? lci::errorcode_t::retry : lci::errorcode_t::done; }
};

struct with_comp_op {
  lci::comp_t comp;
  void* node = nullptr;
  with_comp_op& local_comp(lci::comp_t c) {
    comp = c;
    return *this;
  }
  with_comp_op& user_context(void* n) {
    node = n;
    return *this;
  }
  lci::status_t operator()() const {
    lci::comp_signal(comp, lci::status_t(node));
    return lci::errorcode_t::posted;
  }
};

}  // namespace

TEST_CASE("messages to a registered empty completion object are dropped") {
  lci::g_runtime_init();
  const lci::rcomp_t nobody = lci::register_rcomp(lci::comp_t());
  lci::comp_t queue = lci::alloc_cq();
  const lci::rcomp_t somebody = lci::register_rcomp(queue);
  CHECK(nobody != 0);
  lci::barrier();
  const std::vector<char> large(1 << 20, 'x');
  lci::comp_t sync = lci::alloc_sync();
  for (const size_t size : {size_t{8}, size_t{4000}, large.size()}) {
    lci::status_t status;
    do {
      status = lci::post_am(right(), large.data(), size, sync, nobody);
      lci::progress();
    } while (status.is_retry());
    wait_for(sync, status);
  }
  lci::post_am(right(), large.data(), 8, lci::COMP_NULL, somebody);
  lci::status_t got;
  while (!(got = lci::cq_pop(queue)).is_done()) lci::progress();
  CHECK(got.get_size() == 8);
  std::free(got.get_buffer());
  lci::barrier();
  lci::deregister_rcomp(nobody);
  lci::free_comp(&sync);
  lci::free_comp(&queue);
  lci::g_runtime_fina();
}

TEST_CASE("functors of a program can be nodes") {
  lci::g_runtime_init();
  uint64_t out = static_cast<uint64_t>(lci::get_rank_me()) + 100, in = 0;
  int counted = 0, answered = 0, hesitated = 0;
  lci::comp_t graph = lci::alloc_graph();
  exchange_op::graph = graph;
  const auto first = lci::graph_add_node_op(graph, counted_op{&counted});
  const auto second = lci::graph_add_node_op(graph, exchange_op(&out, &in));
  const auto third = lci::graph_add_node_op(graph, answer_op{&answered});
  const auto fourth = lci::graph_add_node_op(graph, hesitant_op{&hesitated});
  const auto fifth = lci::graph_add_node_op(graph, with_comp_op{});
  const auto dummy = lci::graph_add_node(graph, lci::GRAPH_NODE_DUMMY_CB);
  const lci::graph_node_t chain[] = {lci::GRAPH_START, first, second, third, fourth, fifth, dummy, lci::GRAPH_END};
  for (size_t i = 1; i < std::size(chain); ++i) lci::graph_add_edge(graph, chain[i - 1], chain[i]);
  for (int run = 1; run <= 2; ++run) {
    lci::graph_start(graph);
    while (!lci::graph_test(graph).is_done()) lci::progress();
    CHECK(counted == run);
    CHECK(answered == run);
    CHECK(in == static_cast<uint64_t>(left()) + 100);
  }
  CHECK(hesitated == 4);  // three times, then once
  lci::free_comp(&graph);
  lci::barrier();
  lci::g_runtime_fina();
}

TEST_CASE("a device without a packet pool does operations that need no packet, and refuses the others") {
  using Catch::Contains;
  lci::g_runtime_init_x().alloc_default_packet_pool(false)();
  const lci::device_t device = lci::get_default_device();
  REQUIRE_FALSE(device.is_empty());
  CHECK(lci::get_default_packet_pool().is_empty());

  // Raw operations: small and large messages.
  std::vector<char> in(100000), out(100000, static_cast<char>('a' + lci::get_rank_me()));
  for (const size_t size : {size_t{16}, size_t{6000}, in.size()}) {
    lci::mr_t mr_in = lci::register_memory(in.data(), in.size());
    lci::mr_t mr_out = lci::register_memory(out.data(), out.size());
    std::fill(in.begin(), in.end(), '\0');
    while (lci::net_post_recv(in.data(), in.size(), mr_in).is_retry()) lci::progress();
    while (lci::net_post_send_x(right(), out.data(), size, mr_out).imm_data(7)().is_retry()) lci::progress();
    bool sent = false, received = false;
    while (!sent || !received) {
      lci::net_status_t statuses[LCI_BACKEND_MAX_POLLS];
      const size_t n = lci::net_poll_cq(LCI_BACKEND_MAX_POLLS, statuses);
      for (size_t i = 0; i < n; ++i) {
        sent = sent || statuses[i].opcode == lci::net_opcode_t::SEND;
        if (statuses[i].opcode != lci::net_opcode_t::RECV) continue;
        received = true;
        CHECK(statuses[i].length == size);
        CHECK(statuses[i].imm_data == 7);
        CHECK(lci::get_net_opcode_str(statuses[i].opcode) == std::string("RECV"));
      }
    }
    CHECK(in[size - 1] == static_cast<char>('a' + left()));
    lci::deregister_memory(&mr_in);
    lci::deregister_memory(&mr_out);
  }
  lci::barrier();

  // Small messages, and large ones by rendezvous.
  lci::comp_t sync = lci::alloc_sync();
  for (const size_t size : {size_t{8}, in.size()}) {
    std::fill(in.begin(), in.end(), '\0');
    const auto receive = lci::post_recv(left(), in.data(), size, 1, sync);
    lci::post_send(right(), out.data(), size, 1, lci::COMP_NULL);
    wait_for(sync, receive);
    CHECK(in[size - 1] == static_cast<char>('a' + left()));
  }
  lci::barrier();

  // With a pool, operations that need a packet are possible; without, they are refused before anything is posted.
  lci::packet_pool_t pool = lci::alloc_packet_pool();
  lci::register_packet_pool(pool, device);
  const size_t needs_packet = lci::get_max_bcopy_size_x().packet_pool(pool)();
  bool refused = false;
  try {
    lci::status_t status;
    std::fill(in.begin(), in.end(), '\0');
    // To this process itself, so that it may be received, too.
    status = lci::post_send_x(lci::get_rank_me(), out.data(), needs_packet, 2, lci::COMP_NULL_RETRY)();
    CHECK(status.is_done());
  } catch (const lci::invalid_argument_error& error) {
    refused = true;
    CHECK_THAT(error.what(), Contains("packet_pool(") && Contains(std::to_string(needs_packet)));
    lci::status_t status;
    do
      status =
          lci::post_send_x(lci::get_rank_me(), out.data(), needs_packet, 2, lci::COMP_NULL_RETRY).packet_pool(pool)();
    while (status.is_retry());
    CHECK(status.is_done());
  }
  const auto receive = lci::post_recv(lci::get_rank_me(), in.data(), needs_packet, 2, sync);
  wait_for(sync, receive);
  CHECK(std::memcmp(in.data(), out.data(), needs_packet) == 0);
  // Shared memory and TCP need no packet for such a message.
  const lci::attr_backend_t backend = lci::get_default_net_context().get_attr_backend();
  CHECK(refused == (backend != lci::attr_backend_t::shm && backend != lci::attr_backend_t::tcp));
  lci::barrier();
  lci::free_comp(&sync);
  lci::deregister_packet_pool(pool, device);
  lci::free_packet_pool(&pool);
  lci::g_runtime_fina();
}

TEST_CASE("a registration is sent in a header of 8 and 24 bytes") {
  lci::g_runtime_init();
  struct header {
    uint64_t size;
    lci::rmr_t rmr;
  };
  static_assert(sizeof(header) == 32);
  std::vector<uint64_t> window(1000, 0);
  lci::mr_t mr = lci::register_memory(window.data(), window.size() * 8);
  CHECK(mr.get_attr_name() == std::string(lci::DEFAULT_NAME));
  const header mine{window.size() * 8, lci::get_rmr(mr)};
  CHECK(mine.rmr.base == reinterpret_cast<uintptr_t>(window.data()));
  CHECK(mine.rmr.size() == window.size() * 8);
  CHECK_FALSE(mine.rmr.is_empty());
  CHECK(lci::RMR_NULL.is_empty());
  header theirs{};
  lci::comp_t sync = lci::alloc_sync();
  const auto receive = lci::post_recv(left(), &theirs, sizeof theirs, 1, sync);
  lci::post_send(right(), &mine, sizeof mine, 1, lci::COMP_NULL);
  wait_for(sync, receive);
  const uint64_t word = 1000 + static_cast<uint64_t>(lci::get_rank_me());
  lci::status_t status;
  do {
    status = lci::post_put_x(left(), &word, 8, sync, theirs.size - 8, theirs.rmr)
                 .comp_semantic(lci::comp_semantic_t::remote)();
    lci::progress();
  } while (status.is_retry());
  wait_for(sync, status);
  lci::barrier();
  CHECK(window.back() == 1000 + static_cast<uint64_t>(right()));
  lci::free_comp(&sync);
  lci::deregister_memory(&mr);
  lci::barrier();
  lci::g_runtime_fina();
}

TEST_CASE("built-in values are those of the macros") {
  CHECK(lci::packet_pool_attr_t().packet_size == LCI_PACKET_SIZE_DEFAULT);
  CHECK(lci::device_attr_t().shm_max_polls == LCI_BACKEND_MAX_POLLS);
  CHECK(lci::packet_pool_attr_t().name == std::string(lci::DEFAULT_NAME));
  CHECK(std::string(LCI_VERSION_FULL).find(LCI_VERSION_STRING) == 0);
  CHECK(lci::option_t<int>().get_value_or(3) == 3);
  CHECK(lci::option_t<int>(4).get_value_or(3) == 4);
}
