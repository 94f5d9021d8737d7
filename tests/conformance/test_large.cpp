// Large messages: a series of them, more than 65,536 at once, and one of more than 4 GiB.
#include <sys/mman.h>

#include <fstream>
#include <set>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Available memory in GiB.
long free_gib() {
  std::ifstream info("/proc/meminfo");
  std::string line;
  while (std::getline(info, line))
    if (line.rfind("MemAvailable:", 0) == 0) return std::stol(line.substr(13)) >> 20;
  return 0;
}

/// Address space whose pages are mapped when they are touched, as large pages if the kernel supports them: some
/// machines take half a minute to map 4 GiB of small pages.
class huge_buffer {
 public:
  explicit huge_buffer(size_t size) : size_(size) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = p == MAP_FAILED ? nullptr : static_cast<char*>(p);
    if (data_ != nullptr) (void)madvise(p, size, MADV_HUGEPAGE);
  }
  ~huge_buffer() {
    if (data_ != nullptr) munmap(data_, size_);
  }
  char* data() { return data_; }

 private:
  char* data_;
  size_t size_;
};

}  // namespace

TEST_CASE("a message of more than 4 GiB arrives whole", "[large]") {
  if (lci_test::sanitized) LCI_SKIP("takes too long with sanitizers");
  if (rank_count() != 2) LCI_SKIP("run with two ranks only");
  // The source consists of zero pages except for some marks; the target's pages are all written.
  const long needed = 6;
  if (free_gib() < needed + 3)
    LCI_SKIP("needs " + std::to_string(needed + 3) + " GiB of free memory, there are " + std::to_string(free_gib()));
  lci_test::time_limit(180);
  on_ranks([](rank_env& env) {
    constexpr size_t size = (size_t{4} << 30) + 12'345;
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const int to = env.size - 1;
    const size_t marks[] = {0,
                            1,
                            4095,
                            (size_t{1} << 31) - 1,
                            size_t{1} << 31,
                            (size_t{1} << 32) - 1,
                            size_t{1} << 32,
                            (size_t{1} << 32) + 7,
                            size - 1};
    huge_buffer out(env.rank == 0 ? size : 1), in(env.rank == to ? size : 1);
    EXPECT(out.data() != nullptr && in.data() != nullptr);
    lci::status_t received, sent;
    if (env.rank == to) received = lci::post_recv_x(0, in.data(), size, 1, sync).runtime(env.rt)();
    if (env.rank == 0) {
      for (size_t i = 0; i < std::size(marks); ++i) out.data()[marks[i]] = static_cast<char>('a' + i);
      sent = lci::post_send_x(to, out.data(), size, 1, lci::COMP_NULL).runtime(env.rt)();
      EXPECT(sent.is_done());
      EXPECT_EQ(sent.size, size);
    }
    if (env.rank == to) {
      // Longer than in other tests, since mapping the pages may take half a minute.
      while (!received.is_done() && !lci::sync_test_x(sync, &received).runtime(env.rt)()) env.progress();
      EXPECT_EQ(received.size, size);
      for (size_t i = 0; i < std::size(marks); ++i) EXPECT_EQ(in.data()[marks[i]], static_cast<char>('a' + i));
      EXPECT_EQ(in.data()[2], '\0');
    }
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("more than 65536 rendezvous are in flight at once", "[large]") {
  if (rank_count() != 2) LCI_SKIP("run with two ranks only");
  lci_test::time_limit(150);
  const auto work = [](rank_env& env) {
    const int count = lci_test::sanitized ? 3000 : 70'000;
    // All messages share two buffers: the source is only read, and all messages write the same bytes.
    constexpr size_t size = 30'000;
    const auto out = message(size, 9);
    std::vector<char> in(size);
    auto sends = lci::alloc_counter_x().runtime(env.rt)();
    auto receives = lci::alloc_counter_x().runtime(env.rt)();
    for (int i = 0; i < count; ++i)
      EXPECT(env.post([&] {
                  return lci::post_send_x(env.right(), out.data(), size, static_cast<lci::tag_t>(i), sends)
                      .allow_done(false)
                      .runtime(env.rt)();
                })
                 .is_posted());
    for (int i = 0; i < 100; ++i) env.progress();
    EXPECT_EQ(lci::counter_get_x(sends).runtime(env.rt)(), int64_t{0});
    env.barrier();
    for (int i = 0; i < count; ++i)
      EXPECT(env.post([&] {
                  return lci::post_recv_x(env.left(), in.data(), size, static_cast<lci::tag_t>(i), receives)
                      .allow_done(false)
                      .runtime(env.rt)();
                })
                 .is_posted());
    env.until("all transfers", [&] {
      return lci::counter_get_x(sends).runtime(env.rt)() == count &&
             lci::counter_get_x(receives).runtime(env.rt)() == count;
    });
    EXPECT(in == out);
    env.barrier();
    lci::free_comp_x(&sends).runtime(env.rt)();
    lci::free_comp_x(&receives).runtime(env.rt)();
  };
  on_ranks(work, [](lci::global_attr_t& attr) { attr.rdv_threshold = 8192; });
}

TEST_CASE("a series of large messages arrives whole, whichever end copies them", "[large]") {
  lci_test::time_limit(150);
  on_ranks([](rank_env& env) {
    // One direction only, so the sender does nothing but poll.
    constexpr int window = 8;
    const int rounds = lci_test::sanitized ? 8 : 40;
    const int from = 0, to = env.size - 1;
    struct transfer {
      std::vector<char> out, in;
    };
    std::vector<transfer> transfers(window);
    auto sends = lci::alloc_counter_x().runtime(env.rt)();
    auto receives = lci::alloc_counter_x().runtime(env.rt)();
    int64_t ended = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto tag_of = [&](int i) { return static_cast<lci::tag_t>(round * window + i); };
      const auto size_of = [](lci::tag_t tag) { return 10'000 + tag % 7 * 50'001; };
      if (env.rank == to)
        for (int i = 0; i < window; ++i) {
          auto& in = transfers[static_cast<size_t>(i)].in;
          in.assign(size_of(tag_of(i)), '\0');
          env.post([&] {
            return lci::post_recv_x(from, in.data(), in.size(), tag_of(i), receives)
                .allow_done(false)
                .runtime(env.rt)();
          });
        }
      env.barrier();  // so that the requests arrive one right after the other
      ended += window;
      if (env.rank == from) {
        for (int i = 0; i < window; ++i) {
          auto& out = transfers[static_cast<size_t>(i)].out;
          out = message(size_of(tag_of(i)), tag_of(i));
          env.post([&] {
            return lci::post_send_x(to, out.data(), out.size(), tag_of(i), sends).allow_done(false).runtime(env.rt)();
          });
        }
        env.until("large sends", [&] { return lci::counter_get_x(sends).runtime(env.rt)() == ended; });
      }
      if (env.rank == to) {
        env.until("large receives", [&] { return lci::counter_get_x(receives).runtime(env.rt)() == ended; });
        for (int i = 0; i < window; ++i) {
          const auto& in = transfers[static_cast<size_t>(i)].in;
          EXPECT(matches(in.data(), in.size(), tag_of(i)));
        }
      }
    }
    env.barrier();
    lci::free_comp_x(&sends).runtime(env.rt)();
    lci::free_comp_x(&receives).runtime(env.rt)();
  });
}

TEST_CASE("a series of large active messages arrives whole, in place and in allocated buffers", "[large]") {
  // Buffers that only the handler sees, and buffers that the program owns.
  const auto kind = GENERATE(inbox_kind::in_place_handler, inbox_kind::handler, inbox_kind::queue_lcrq);
  INFO(name_of(kind));
  lci_test::time_limit(150);
  on_ranks([kind](rank_env& env) {
    // More messages than are received at a time, with sizes below and above the one that may be copied in pieces.
    constexpr int window = 24;
    const int rounds = lci_test::sanitized ? 3 : 10;
    const int from = 0, to = env.size - 1;
    const auto size_of = [](lci::tag_t tag) { return tag % 12 == 11 ? 1'100'000 : 9'000 + tag % 7 * 50'001; };
    inbox box(env, kind, window);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(to)];
    auto sends = lci::alloc_counter_x().runtime(env.rt)();
    std::vector<std::vector<char>> out(window);
    for (int round = 0; round < rounds; ++round) {
      if (env.rank == from) {
        for (int i = 0; i < window; ++i) {
          const auto tag = static_cast<lci::tag_t>(round * window + i);
          auto& payload = out[static_cast<size_t>(i)];
          payload = message(size_of(tag), tag);
          env.post([&] {
            return lci::post_am_x(to, payload.data(), payload.size(), sends, rcomp)
                .tag(tag)
                .allow_done(false)
                .runtime(env.rt)();
          });
        }
        env.until("large messages",
                  [&] { return lci::counter_get_x(sends).runtime(env.rt)() == int64_t{round + 1} * window; });
      }
      if (env.rank == to) {
        std::set<lci::tag_t> tags;
        for (const auto& a : box.collect()) {
          EXPECT_EQ(a.status.size, static_cast<size_t>(size_of(a.status.tag)));
          EXPECT(matches(a.data.data(), a.data.size(), a.status.tag));
          tags.insert(a.status.tag);
        }
        EXPECT_EQ(tags.size(), static_cast<size_t>(window));
      }
    }
    env.barrier();
    lci::free_comp_x(&sends).runtime(env.rt)();
  });
}
