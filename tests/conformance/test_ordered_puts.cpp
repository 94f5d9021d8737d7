// Ordered puts: none of them, and no message, overtakes an ordered put that was posted before it.
#include <deque>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr size_t rows = 24;

/// Returns whether each byte of rank's window that a put has written has the value that the last put wrote there.
bool has_values(const window& w, char* data, const std::vector<char>& expected) {
  return w.size() == expected.size() && std::memcmp(data, expected.data(), expected.size()) == 0;
}

/// A put to part of a window: contiguous, or rows at regular distances.
struct some_put {
  size_t at, row, pitch, n_rows;
  size_t size() const { return row * n_rows; }
  bool is_strided() const { return n_rows > 1; }
};

/// Puts that overlap, of a few bytes up to several pieces. The same at all ranks.
std::vector<some_put> puts_of(size_t largest) {
  std::vector<some_put> all;
  for (size_t i = 0; i < 12; ++i) {
    const size_t size = i % 4 == 0 ? largest : largest / (i + 1) + i;
    if (i % 3 == 2 && size >= rows * 8)
      all.push_back({i * 5, size / rows / 2, size / rows, rows});
    else
      all.push_back({i * 7, size, size, 1});
  }
  all.push_back({1, 8, 8, 1});
  return all;
}

/// How puts are posted. `deadlines`: every second one has a deadline, so it goes as messages over some networks.
struct way_to_post {
  bool with_retry, deadlines = false;
};

template <class Post>
void post_all(rank_env& env, const window& w, lci::comp_t counter, way_to_post how, const std::vector<some_put>& puts,
              std::deque<std::vector<char>>& sources, Post&& each) {
  int number = 0;
  for (const some_put& p : puts) {
    sources.emplace_back(p.size(), static_cast<char>(env.rank * 40 + ++number));
    const size_t counts[] = {p.row, p.n_rows}, strides[] = {p.pitch};
    const auto layout = lci::layout_t::strided(counts, strides, 1);
    each(env.post([&] {
      return lci::post_put_x(env.right(), sources.back().data(), p.size(), counter, p.at, w.of(env.right()))
          .remote_layout(p.is_strided() ? &layout : nullptr)
          .allow_done(false)
          .allow_retry(how.with_retry)
          .deadline(how.deadlines && number % 2 == 0 ? 1000 : -1)
          .ordered(true)
          .runtime(env.rt)();
    }));
  }
}

}  // namespace

TEST_CASE("a message finds the data of all ordered puts before it, of which the last ones win", "[rma]") {
  const bool with_retry = GENERATE(true, false), deadlines = GENERATE(false, true);
  INFO("retry allowed: " << with_retry << ", deadlines: " << deadlines);
  on_ranks(
      [=](rank_env& env) {
        window w(env, 400'000);
        if (!env.device.get_attr_ordered_puts()) {  // what then holds is the subject of the next test
          EXPECT(over_libfabric() || !lci::get_default_net_context_x().runtime(env.rt)().get_attr_support_putimm());
          return env.barrier();
        }
        inbox box(env, inbox_kind::queue_lcrq, 1);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        auto counter = lci::alloc_counter_x().runtime(env.rt)();
        int64_t posted = 0;
        for (const size_t largest : {size_t{8}, size_t{3000}, size_t{60'000}, size_t{300'000}})
          for (const size_t message_size : {size_t{8}, size_t{2000}, size_t{100'000}}) {
            w.clear();
            env.barrier();
            const auto puts = puts_of(largest);
            std::vector<char> expected(w.size(), '\x5a');
            for (size_t i = 0; i < puts.size(); ++i)
              for (size_t r = 0; r < puts[i].n_rows; ++r)
                std::memset(expected.data() + puts[i].at + r * puts[i].pitch,
                            static_cast<char>(env.left() * 40 + static_cast<int>(i) + 1), puts[i].row);
            std::deque<std::vector<char>> sources;
            post_all(env, w, counter, {with_retry, deadlines}, puts, sources,
                     [&](lci::status_t s) { posted += s.is_posted(); });
            const auto out = message(message_size, 1);
            auto sync = lci::alloc_sync_x().runtime(env.rt)();
            const auto s = env.post([&] {
              return lci::post_am_x(env.right(), out.data(), out.size(), sync, rcomp)
                  .allow_retry(with_retry)
                  .runtime(env.rt)();
            });
            EXPECT_EQ(box.collect().size(), size_t{1});
            EXPECT(has_values(w, w.data(), expected));
            (void)finished(env, sync, s);
            lci::free_comp_x(&sync).runtime(env.rt)();
            env.until("puts to end", [&] { return lci::counter_get_x(counter).runtime(env.rt)() == posted; });
            env.barrier();
            EXPECT(has_values(w, w.data(), expected));
            env.barrier();
          }
        lci::free_comp_x(&counter).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a device says whether puts may be ordered, and refuses them otherwise", "[rma]") {
  on_ranks([](rank_env& env) {
    window w(env, 4096);
    const bool ordered = env.device.get_attr_ordered_puts();
    // Of the networks with puts, only some of libfabric's providers don't keep the order.
    const bool has_puts = lci::get_default_net_context_x().runtime(env.rt)().get_attr_support_putimm();
    if (!over_libfabric()) EXPECT_EQ(ordered, has_puts);
    const uint64_t value = 5;
    const auto put = lci::post_put_x(env.right(), &value, sizeof value, lci::COMP_NULL, 8, w.of(env.right()))
                         .ordered(true)
                         .runtime(env.rt);
    if (ordered)
      EXPECT(put().is_done());
    else
      EXPECT_INVALID(put(), "ordered", "ordered_puts");
    EXPECT(lci::post_put_x(env.right(), &value, sizeof value, lci::COMP_NULL, 16, w.of(env.right()))
               .ordered(false)
               .runtime(env.rt)()
               .is_done());
    EXPECT_INVALID(lci::post_comm_x(lci::direction_t::OUT, env.right(), const_cast<uint64_t*>(&value), sizeof value,
                                    lci::COMP_NULL)
                       .ordered(true)
                       .runtime(env.rt)(),
                   "ordered", "put");
    EXPECT_INVALID(lci::post_comm_x(lci::direction_t::IN, env.right(), w.data(), sizeof value, lci::COMP_NULL)
                       .rmr(w.of(env.right()))
                       .ordered(true)
                       .runtime(env.rt)(),
                   "ordered", "put");
    if (ordered)
      EXPECT(lci::post_comm_x(lci::direction_t::OUT, env.right(), const_cast<uint64_t*>(&value), sizeof value,
                              lci::COMP_NULL)
                 .rmr(w.of(env.right()))
                 .ordered(true)
                 .runtime(env.rt)()
                 .is_done());
    env.barrier();
    uint64_t got = 0;
    std::memcpy(&got, w.data() + 16, sizeof got);
    EXPECT_EQ(got, value);
    env.barrier();
  });
}
