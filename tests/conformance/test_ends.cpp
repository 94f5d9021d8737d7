// Each operation ends once, whatever happens meanwhile, and leaks nothing.
#include <stdexcept>

#include "tests/conformance/cancelling.hpp"
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

const size_t sizes[] = {8, 3000, 150'000};

bool drained(rank_env& env) { return lci::test_drained_x().runtime(env.rt)().is_done(); }

struct refusal : std::runtime_error {
  refusal() : std::runtime_error("a handler of the user's refuses") {}
};
void refuses(lci::status_t) { throw refusal(); }

/// The state of a chain of handlers; one for each rank.
struct chain {
  lci::runtime_t rt;
  lci::comp_t comp;
  lci::rcomp_t sink = 0;
  std::atomic<int> left{0}, deepest{0}, advanced{0};
};
chain chains[64];

/// Posts the next message, whose local completion object is this handler again.
void posts_on(lci::status_t) {
  chain& c = chains[rank_env::mine().rank];
  thread_local int depth = 0;  // thread_local: another thread may make progress concurrently
  ++depth;
  c.deepest = std::max(c.deepest.load(), depth);
  c.advanced += lci::progress_x().runtime(c.rt)().is_done();
  if (c.left.fetch_sub(1) > 0) {
    const char byte = 1;
    lci::post_am_x(rank_env::mine().rank, &byte, 1, c.comp, c.sink)
        .allow_done(false)
        .allow_retry(false)
        .runtime(c.rt)();
  }
  --depth;
}

}  // namespace

TEST_CASE("a functor can be called several times, with any completion object", "[ends]") {
  const auto comp = GENERATE(0, 1, 2);  // COMP_NULL, COMP_NULL_RETRY, a synchronizer
  on_ranks([comp](rank_env& env) {
    window w(env, 150'000);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const lci::comp_t local = comp == 0 ? lci::COMP_NULL : comp == 1 ? lci::COMP_NULL_RETRY : sync;
    for (const size_t size : sizes) {
      auto own = message(size, 1);
      std::vector<char> in(size);
      const auto put = lci::post_put_x(env.rank, own.data(), size, local, 0, w.of(env.rank)).runtime(env.rt);
      const auto get = lci::post_get_x(env.rank, in.data(), size, local, 0, w.of(env.rank)).runtime(env.rt);
      const auto send = lci::post_send_x(env.rank, own.data(), size, 5, local).runtime(env.rt);
      const auto receive = lci::post_recv_x(env.rank, in.data(), size, 5, local).runtime(env.rt);
      const auto call = [&](const auto& functor) {
        const auto s = env.post([&] { return functor(); });
        EXPECT(comp == 2 || s.is_done());
        EXPECT(finished(env, sync, s).is_done());
      };
      for (int i = 0; i < 3; ++i) {
        call(put);
        call(get);
        EXPECT(in == own);
        in.assign(size, 0);
        // To the same rank, only eager messages can complete before their receives are posted.
        if (size <= lci::get_max_bcopy_size_x().runtime(env.rt)()) {
          call(send);
          call(receive);
          EXPECT(in == own);
        }
      }
    }
    drain(env);
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a functor looks up omitted arguments each time it is called", "[ends]") {
  on_ranks([](rank_env& env) {
    auto other = lci::alloc_device_x().runtime(env.rt)();
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(counter).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    const char byte = 1;
    auto post = lci::post_am_x(env.right(), &byte, 1, lci::COMP_NULL_RETRY, rcomp);
    post.runtime(env.rt);
    env.post([&] { return post(); });
    EXPECT(post.args().device.is_empty());
    const auto arrived = [&] { return lci::counter_get_x(counter).runtime(env.rt)(); };
    env.until("the message", [&] { return arrived() >= 1; });
    post.device(other);
    env.post(other, [&] { return post(); });
    env.until(other, "the message through the other device", [&] { return arrived() == 2; });
    env.barrier();
    lci::free_comp_x(&counter).runtime(env.rt)();
    lci::free_device_x(&other).runtime(env.rt)();
  });
}

TEST_CASE("a blocking receive that a handler's exception ends is not posted any more", "[ends]") {
  on_ranks([](rank_env& env) {
    auto thrower = lci::alloc_handler_x(refuses).am_in_place(true).runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(thrower).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    const char byte = 1;
    std::vector<char> first(3000, 'f'), second(3000);
    env.post([&] { return lci::post_am_x(env.rank, &byte, 1, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)(); });
    bool thrown = false;
    try {
      lci::post_recv_x(env.left(), first.data(), first.size(), 3, lci::COMP_NULL).runtime(env.rt)();
    } catch (const refusal&) {
      thrown = true;
    }
    EXPECT(thrown);
    env.barrier();  // no rank has sent before
    const auto out = message(3000, static_cast<uint64_t>(env.rank));
    env.post([&] {
      return lci::post_send_x(env.right(), out.data(), out.size(), 3, lci::COMP_NULL_RETRY).runtime(env.rt)();
    });
    const auto s = lci::post_recv_x(env.left(), second.data(), second.size(), 3, lci::COMP_NULL).runtime(env.rt)();
    EXPECT(s.is_done());
    EXPECT(matches(second.data(), second.size(), static_cast<uint64_t>(env.left())));
    EXPECT(first == std::vector<char>(3000, 'f'));
    env.barrier();
    drain(env);
    lci::free_comp_x(&thrower).runtime(env.rt)();
  });
}

/// Makes progress once; returns whether a handler has thrown.
static bool progress_throws(rank_env& env) {
  try {
    lci::progress_x().runtime(env.rt)();
  } catch (const refusal&) {
    return true;
  }
  return false;
}

TEST_CASE("a handler that throws does not disturb the completion of its message", "[ends]") {
  const size_t size = GENERATE(size_t{8}, size_t{3000}, size_t{150'000});
  on_ranks([size](rank_env& env) {
    auto thrower = lci::alloc_handler_x(refuses).am_in_place(true).runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(thrower).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    const auto out = message(size, 1);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    int thrown = 0;
    const auto progress = [&] { thrown += progress_throws(env); };
    // To itself: a neighbour might get the exception while it waits in the harness.
    auto s = lci::post_am_x(env.rank, out.data(), size, sync, rcomp).allow_retry(false).runtime(env.rt)();
    while (!(s.is_done() && thrown == 1 && drained(env))) {
      progress();
      if (!s.is_done()) lci::sync_test_x(sync, &s).runtime(env.rt)();
    }
    EXPECT_EQ(thrown, 1);
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::free_comp_x(&thrower).runtime(env.rt)();
  });
}

TEST_CASE("a handler that throws loses no message that arrived with its own", "[ends]") {
  const size_t size = GENERATE(size_t{8}, size_t{40}, size_t{3000});
  on_ranks([size](rank_env& env) {
    constexpr int n = 200;
    auto thrower = lci::alloc_handler_x(refuses).am_in_place(true).runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(thrower).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    const auto out = message(size, 1);
    int thrown = 0;
    const auto progress = [&] { thrown += progress_throws(env); };
    for (int i = 0; i < n; ++i) {
      while (lci::post_am_x(env.rank, out.data(), size, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)().is_retry())
        progress();
      // A progress thread stores at most 64 exceptions until the program calls progress().
      while (i - thrown > 32) progress();
    }
    while (thrown < n) progress();
    EXPECT_EQ(thrown, n);
    env.barrier();
    lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
    lci::free_comp_x(&thrower).runtime(env.rt)();
  });
}

TEST_CASE("an active message without a handler at its target ends at its sender", "[ends]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const auto unknown = static_cast<lci::rcomp_t>(4000);
    for (const size_t size : sizes) {
      const auto out = message(size, 1);
      const auto s = finished(env, sync, env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, sync, unknown).runtime(env.rt)();
      }));
      EXPECT(s.is_done() || s.error.errorcode == lci::errorcode_t::fatal);
      EXPECT_EQ(s.rank, env.right());
    }
    drain(env);
    // A blocking post throws.
    const auto large = message(150'000, 1);
    bool thrown = false;
    try {
      lci::post_am_x(env.right(), large.data(), large.size(), lci::COMP_NULL, unknown).runtime(env.rt)();
    } catch (const lci::peer_failure_error& e) {
      thrown = true;
      EXPECT_EQ(e.failed_rank(), env.right());
    }
    EXPECT(thrown);
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("an access to memory that is no longer registered ends at its origin", "[ends]") {
  const char* const provider = std::getenv("LCI_ATTR_OFI_PROVIDER_NAME");
  if (over_libfabric() && (provider == nullptr || std::string(provider) != "verbs;ofi_rxm"))
    LCI_SKIP("libfabric's tcp and shm providers don't report a refused key to the origin");
  if (over_libibverbs()) LCI_SKIP("a refused access breaks the connection, which counts as a peer failure");
  on_ranks([](rank_env& env) {
    std::vector<char> memory(150'000), out(memory.size());
    auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(env.rt)();
    const auto rmr = lci::get_rmr_x(mr).runtime(env.rt)();
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : sizes) {
      finished(env, sync,
               env.post([&] { return lci::post_put_x(env.rank, out.data(), size, sync, 0, rmr).runtime(env.rt)(); }));
      finished(env, sync,
               env.post([&] { return lci::post_get_x(env.rank, out.data(), size, sync, 0, rmr).runtime(env.rt)(); }));
    }
    drain(env);
    EXPECT(true);
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a handler is never called recursively, and progress inside it does nothing", "[ends]") {
  on_ranks([](rank_env& env) {
    constexpr int length = 50'000;  // as a recursion it would not fit on a stack
    chain& c = chains[env.rank];
    c.rt = env.rt;
    c.left = length;
    c.deepest = c.advanced = 0;
    c.comp = lci::alloc_handler_x(posts_on).runtime(env.rt)();
    inbox box(env, inbox_kind::counter, length + 1);
    c.sink = box.rcomp();
    const char byte = 1;
    const auto s =
        lci::post_am_x(env.rank, &byte, 1, c.comp, c.sink).allow_done(false).allow_retry(false).runtime(env.rt)();
    EXPECT(s.is_posted());
    box.collect();
    env.until("the last handler", [&] { return c.left.load() < 0 && drained(env); });
    EXPECT_EQ(c.deepest.load(), 1);
    EXPECT_EQ(c.advanced.load(), 0);
    lci::free_comp_x(&c.comp).runtime(env.rt)();
  });
}

namespace {

/// Handlers that post the next operation of their kind, which ends at once where the network copies within the call.
struct nest {
  rank_env* env;
  lci::comp_t comp;
  int left;
  std::atomic<int> deepest{0}, advanced{0}, ended{0};
  std::vector<char> here;
  lci::rmr_t there;
};
nest nests[64];

template <class Post>
void posts_the_next(Post post) {
  nest& n = nests[rank_env::mine().rank];
  thread_local int depth = 0;  // another thread may make progress concurrently
  ++depth;
  n.deepest = std::max(n.deepest.load(), depth);
  n.advanced += lci::progress_x().runtime(n.env->rt)().is_done();
  if (--n.left > 0) post(n);
  --depth;
  ++n.ended;
}
void receive_next(nest& n) {
  lci::post_recv_x(n.env->rank, n.here.data(), n.here.size(), 4, n.comp).allow_done(false).runtime(n.env->rt)();
}
void put_next(nest& n) {
  lci::post_put_x(n.env->rank, n.here.data(), n.here.size(), n.comp, 0, n.there)
      .allow_done(false)
      .allow_retry(false)
      .runtime(n.env->rt)();
}

const tuner reads_in_chunks = [](lci::global_attr_t& a) {
  a.rdv_protocol = lci::attr_rdv_protocol_t::read;
  a.rdv_chunk_size = 4096;
};

}  // namespace

TEST_CASE("a handler of a large operation that ends within its post is not called recursively", "[ends]") {
  const bool receives = GENERATE(true, false);
  on_ranks(
      [receives](rank_env& env) {
        constexpr int count = 40;
        constexpr size_t size = 150'000;
        nest& n = nests[env.rank];
        n.env = &env;
        n.left = count;
        n.deepest = n.advanced = n.ended = 0;
        n.here.assign(size, 'a');
        window w(env, size);
        n.there = w.of(env.rank);
        n.comp =
            lci::alloc_handler_x(receives ? [](lci::status_t) { posts_the_next(receive_next); } : [](lci::status_t) {
              posts_the_next(put_next);
            }).runtime(env.rt)();
        const auto out = message(size, 1);
        auto sent = lci::alloc_counter_x().runtime(env.rt)();
        for (int i = 0; i < count && receives; ++i)
          lci::post_send_x(env.rank, out.data(), size, 4, sent).allow_retry(false).runtime(env.rt)();
        for (int i = 0; i < 100; ++i) env.progress();  // until the requests have arrived
        receives ? receive_next(n) : put_next(n);
        env.until("the last handler", [&] { return n.ended.load() == count && drained(env); });
        EXPECT_EQ(n.deepest.load(), 1);
        EXPECT_EQ(n.advanced.load(), 0);
        EXPECT(!receives || lci::counter_get_x(sent).runtime(env.rt)() == count);
        env.barrier();
        lci::free_comp_x(&sent).runtime(env.rt)();
        lci::free_comp_x(&n.comp).runtime(env.rt)();
      },
      reads_in_chunks);
}

TEST_CASE("after a handler has thrown out of the post of a large put, operations end once", "[ends]") {
  on_ranks(
      [](rank_env& env) {
        constexpr size_t size = 150'000;
        window w(env, size);
        const auto out = message(size, 1);
        auto thrower = lci::alloc_handler_x(refuses).runtime(env.rt)();
        int thrown = 0;
        try {
          lci::post_put_x(env.rank, out.data(), size, thrower, 0, w.of(env.rank))
              .allow_done(false)
              .allow_retry(false)
              .runtime(env.rt)();
        } catch (const refusal&) {
          ++thrown;
        }
        while (thrown == 0) thrown += progress_throws(env);
        env.until("the device to be drained", [&] { return drained(env); });
        EXPECT(std::equal(out.begin(), out.end(), w.data()));
        // Each operation has memory of its own.
        constexpr int count = 64;
        end_queue ended(env);
        std::vector<char> in(count);
        for (int i = 0; i < count; ++i)
          lci::post_recv_x(env.rank, &in[static_cast<size_t>(i)], 1, static_cast<lci::tag_t>(i), ended.comp())
              .allow_done(false)
              .runtime(env.rt)();
        for (int i = 0; i < count; ++i) {
          const char byte = static_cast<char>(i);
          env.post([&] {
            return lci::post_send_x(env.rank, &byte, 1, static_cast<lci::tag_t>(i), lci::COMP_NULL_RETRY)
                .runtime(env.rt)();
          });
        }
        for (int i = 0; i < count; ++i) {
          const auto s = ended.next();
          EXPECT(s.is_done());
        }
        for (int i = 0; i < count; ++i) EXPECT_EQ(static_cast<int>(in[static_cast<size_t>(i)]), i);
        env.barrier();
        lci::free_comp_x(&thrower).runtime(env.rt)();
      },
      reads_in_chunks);
}

namespace {

/// A handler that runs out of memory when it is called for the first time.
std::atomic<int> calls_of_hungry[64];
void is_hungry(lci::status_t) {
  if (calls_of_hungry[rank_env::mine().rank].fetch_add(1) == 0) throw std::bad_alloc();
}

}  // namespace

TEST_CASE("a handler without memory does not repeat the message whose end it is told", "[ends]") {
  const tuner large_backlog = [](lci::global_attr_t& a) { a.backlog_bytes = size_t{1} << 30; };
  on_ranks(
      [](rank_env& env) {
        constexpr int count = 4000;  // more than the network takes without progress
        std::atomic<int>& calls = calls_of_hungry[env.rank];
        calls = 0;
        auto hungry = lci::alloc_handler_x(is_hungry).runtime(env.rt)();
        auto arrived = lci::alloc_counter_x().runtime(env.rt)();
        const auto rcomp = lci::register_rcomp_x(arrived).runtime(env.rt)();
        EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
        const auto out = message(100, 1);
        int posted = 0;
        for (int i = 0; i < count; ++i) {
          try {
            posted += lci::post_am_x(env.rank, out.data(), out.size(), hungry, rcomp)
                          .comp_semantic(lci::comp_semantic_t::network)
                          .allow_retry(false)
                          .runtime(env.rt)()
                          .is_posted();
          } catch (const std::exception&) {
            ++posted;  // the post has called the handler
          }
        }
        const auto n_arrived = [&] { return lci::counter_get_x(arrived).runtime(env.rt)(); };
        while (calls.load() < posted || n_arrived() < count || !drained(env)) {
          try {
            lci::progress_x().runtime(env.rt)();
          } catch (const std::exception&) {
            EXPECT(calls.load() > 0);
          }
        }
        for (int i = 0; i < 100; ++i) env.progress();
        EXPECT_EQ(calls.load(), posted);
        EXPECT_EQ(n_arrived(), count);
        env.barrier();
        lci::free_comp_x(&arrived).runtime(env.rt)();
        lci::free_comp_x(&hungry).runtime(env.rt)();
      },
      large_backlog);
}
