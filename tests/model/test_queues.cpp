// Schedules of the queues and the array; and, as a control, bugs that the scheduler must find.
#include <catch2/catch.hpp>
#include <memory>

#include "lib/concurrent/bounded_queue.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/concurrent/sharded_queue.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::atom;
using lci_model::explore;
using lci_model::scheduler;
using lci_model::schedules;

// More than one word, so that an item that is read while it is written is detected.
struct item {
  uint32_t producer = 0;
  uint32_t number = 0;
  uint64_t check = 0;
};
item make_item(uint32_t producer, uint32_t number) { return {producer, number, producer * 1000003ull + number}; }

/// Checks the popped items: each is popped exactly once, and a consumer gets the items of a producer in
/// their order.
struct ledger {
  explicit ledger(uint32_t producers, uint32_t each) : next(producers), seen(producers) {
    for (auto& s : seen) s.resize(each);
  }
  void popped(const item& i) {
    const bool sound =
        i.producer < seen.size() && i.number < seen[i.producer].size() && i.check == i.producer * 1000003ull + i.number;
    scheduler::check(sound, "an item that was not pushed");
    scheduler::check(!seen[i.producer][i.number], "an item was popped twice");
    seen[i.producer][i.number] = true;
    ++count;
  }
  std::vector<uint32_t> next;
  std::vector<std::vector<bool>> seen;
  uint32_t count = 0;
};

template <class Queue>
bool offer(Queue& q, const item& i) {
  if constexpr (std::is_void_v<decltype(q.push(i))>) {
    q.push(i);
    return true;
  } else {
    return q.push(i);
  }
}

template <class Queue>
size_t pop_some(Queue& q, std::vector<item>& some) {
  if constexpr (requires { q.pop_many(some.data(), some.size()); })
    if (some.size() > 1) return q.pop_many(some.data(), some.size());
  return q.pop(some[0]) ? 1 : 0;
}

template <class Make>
auto exchange_items(uint32_t producers, uint32_t each, uint32_t consumers, Make make, size_t at_once = 1) {
  return [=](scheduler& s) -> std::function<std::string()> {
    auto q = make();
    auto book = std::make_shared<ledger>(producers, each);
    for (uint32_t p = 0; p < producers; ++p)
      s.spawn([=] {
        for (uint32_t n = 0; n < each; ++n)
          while (!offer(*q, make_item(p, n))) scheduler::step();
      });
    for (uint32_t c = 0; c < consumers; ++c)
      s.spawn([=] {
        std::vector<uint32_t> last(producers, 0);
        std::vector<item> some(at_once);
        while (book->count < producers * each) {
          const size_t n = pop_some(*q, some);
          if (n == 0) scheduler::step();
          for (size_t k = 0; k < n; ++k) {
            const item& i = some[k];
            book->popped(i);
            scheduler::check(i.number + 1 > last[i.producer], "items of one producer out of order");
            last[i.producer] = i.number + 1;
          }
        }
      });
    return [=]() -> std::string {
      item i;
      return q->pop(i) ? "an item too many" : !q->idle() ? "not idle at the end" : "";
    };
  };
}

using model_bounded = lci::bounded_queue<item, atom>;
using model_segmented = lci::segmented_queue<item, atom, 4>;
struct by_fiber {
  unsigned operator()() const { return scheduler::number(); }
  int if_known() const { return static_cast<int>(scheduler::number()); }
};
using model_sharded = lci::sharded_queue<item, atom, 4, 3, by_fiber>;

/// Pushes and pops as completion queues do: directly if that is possible.
struct model_sharded_directly : model_sharded {
  void push(const item& i) {
    if (cell* c = claim_directly()) return fill(c, i);
    model_sharded::push(i);
  }
  bool pop(item& out) {
    cell* const c = take_directly();
    if (c == nullptr) return model_sharded::pop(out);
    out = item_of(c);
    return true;
  }
};

/// A ring that publishes an item before it is written: the most frequent bug in such queues.
class publishes_too_early {
 public:
  void push(const item& i) {
    const uint64_t t = tail_.fetch_add(1);
    cells_[t % 16].full.store(1);
    scheduler::step();
    cells_[t % 16].value = i;
  }
  bool pop(item& out) {
    uint64_t t = head_.load();
    if (!cells_[t % 16].full.load()) return false;
    if (!head_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst)) return false;
    out = cells_[t % 16].value;
    cells_[t % 16].full.store(0);
    return true;
  }
  bool idle() const { return head_.load() == tail_.load(); }

 private:
  struct cell {
    atom<uint32_t> full{0};
    item value{~0u, 0, 0};
  };
  cell cells_[16];
  atom<uint64_t> tail_{0}, head_{0};
};

}  // namespace

TEST_CASE("model: the scheduler finds an item that is published too early") {
  CHECK(explore(schedules, exchange_items(2, 3, 2, [] { return std::make_shared<publishes_too_early>(); })) != "");
}

TEST_CASE("model: bounded queue passes each item once and in order, also when it is full") {
  CHECK(explore(schedules, exchange_items(2, 5, 2, [] { return std::make_shared<model_bounded>(2); })) == "");
  CHECK(explore(schedules, exchange_items(3, 3, 1, [] { return std::make_shared<model_bounded>(4); })) == "");
  CHECK(explore(schedules, exchange_items(1, 8, 3, [] { return std::make_shared<model_bounded>(2); })) == "");
}

TEST_CASE("model: segmented queue passes each item once and in order, across many segments") {
  CHECK(explore(schedules, exchange_items(2, 12, 2, [] { return std::make_shared<model_segmented>(); })) == "");
  CHECK(explore(schedules, exchange_items(3, 6, 3, [] { return std::make_shared<model_segmented>(); })) == "");
  CHECK(explore(schedules, exchange_items(1, 20, 3, [] { return std::make_shared<model_segmented>(); })) == "");
}

TEST_CASE("model: sharded queue passes each item once and in order, with shards of one thread and of several") {
  CHECK(explore(schedules, exchange_items(2, 6, 1, [] { return std::make_shared<model_sharded>(); })) == "");
  CHECK(explore(schedules, exchange_items(4, 3, 2, [] { return std::make_shared<model_sharded>(); })) == "");
  CHECK(explore(schedules, exchange_items(1, 9, 3, [] { return std::make_shared<model_sharded>(); })) == "");
  CHECK(explore(schedules, exchange_items(2, 6, 1, [] { return std::make_shared<model_sharded_directly>(); })) == "");
  CHECK(explore(schedules, exchange_items(4, 3, 2, [] { return std::make_shared<model_sharded_directly>(); })) == "");
}

TEST_CASE("model: queues pop several items in a call, each once and in order") {
  const auto segmented = [] { return std::make_shared<model_segmented>(); };
  CHECK(explore(schedules, exchange_items(2, 9, 2, segmented, 3)) == "");
  CHECK(explore(schedules, exchange_items(1, 20, 3, segmented, 7)) == "");
  const auto bounded = [] { return std::make_shared<model_bounded>(4); };
  CHECK(explore(schedules, exchange_items(2, 6, 2, bounded, 3)) == "");
  CHECK(explore(schedules, exchange_items(1, 9, 3, bounded, 9)) == "");
  const auto sharded = [] { return std::make_shared<model_sharded>(); };
  CHECK(explore(schedules, exchange_items(3, 4, 2, sharded, 3)) == "");
}

TEST_CASE("model: segmented queue reuses its segments") {
  size_t most = 0;
  CHECK(explore(schedules / 10, [&](scheduler& s) -> std::function<std::string()> {
          auto q = std::make_shared<model_segmented>();
          for (int p = 0; p < 2; ++p)
            s.spawn([=] {
              item i;
              for (uint32_t n = 0; n < 100; ++n) {
                q->push(make_item(0, n));
                while (!q->pop(i)) scheduler::step();
              }
            });
          return [=, &most] {
            if (q->segments() > most) most = q->segments();
            return std::string();
          };
        }) == "");
  // 200 items used segments of 4. Each slow consumer may hold one segment.
  CHECK(most <= 5);
}

TEST_CASE("model: array returns the value or the default to each reader while it grows") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          auto a = std::make_shared<lci::mpmc_array<uintptr_t, atom>>(1, 7);
          auto appended = std::make_shared<size_t>(0);
          for (int w = 0; w < 2; ++w)
            s.spawn([=] {
              for (int i = 0; i < 5; ++i) {
                const size_t index = a->append(1000 + w);
                ++*appended;
                scheduler::check(a->get(index) == 1000u + static_cast<unsigned>(w), "an appended value can't be read");
                a->put(index, 2000 + index);
                scheduler::check(a->get(index) == 2000 + index, "a changed value can't be read");
              }
            });
          for (int r = 0; r < 2; ++r)
            s.spawn([=] {
              for (size_t i = 0; i < 12; ++i) {
                const uintptr_t v = a->get(i);
                scheduler::check(v == 7 || v == 1000 || v == 1001 || v == 2000 + i, "a value that was not written");
              }
            });
          return [=]() -> std::string {
            for (size_t i = 0; i < 10; ++i)
              if (a->get(i) != 2000 + i) return "a value was lost";
            return a->size() == 10 ? "" : "wrong size";
          };
        }) == "");
}

namespace {

// Consumers that sleep while the queue is empty, with a queue and an event count.
template <class Queue, class Events>
auto sleepy_consumers(uint32_t producers, uint32_t each, uint32_t consumers, uint32_t capacity) {
  struct both {
    explicit both(uint32_t n) : queue(make(n)) {}
    static std::unique_ptr<Queue> make(uint32_t n) {
      if constexpr (std::is_constructible_v<Queue, size_t>) {
        return std::make_unique<Queue>(n);
      } else {
        return (void)n, std::make_unique<Queue>();
      }
    }
    std::unique_ptr<Queue> queue;
    Events events;
  };
  return [=](scheduler& s) -> std::function<std::string()> {
    auto b = std::make_shared<both>(capacity);
    auto book = std::make_shared<ledger>(producers, each);
    for (uint32_t p = 0; p < producers; ++p)
      s.spawn([=] {
        for (uint32_t n = 0; n < each; ++n) {
          bool asleep = false;
          b->queue->push(make_item(p, n), [&] { asleep = b->events.notice(); });
          if (asleep) b->events.wake();
        }
      });
    for (uint32_t c = 0; c < consumers; ++c)
      s.spawn([=] {
        for (uint32_t n = 0; n < producers * each / consumers;) {
          item i;
          if (b->queue->pop(i)) {
            book->popped(i);
            ++n;
          } else {
            b->events.sleep([&] { return b->queue->idle(); }, -1);
          }
        }
      });
    return {};
  };
}

/// Checks for sleepers without the rest of the protocol, so some wake-ups are lost.
struct forgetful_events {
  bool notice() { return sleepers.load() != 0; }
  void wake() { lci_model::futex::wake(&epoch, 1); }
  template <class Idle>
  void sleep(Idle idle, int64_t timeout_ns) {
    const uint32_t e = epoch.load();
    if (idle()) {
      sleepers.fetch_add(1);
      lci_model::futex::wait(&epoch, e, timeout_ns);
      sleepers.fetch_sub(1);
    }
  }
  atom<uint32_t> sleepers{0}, epoch{0};
};

}  // namespace

TEST_CASE("model: the scheduler finds a lost wake-up") {
  CHECK(explore(schedules, sleepy_consumers<model_segmented, forgetful_events>(2, 3, 1, 0)) != "");
}

TEST_CASE("model: no wake-up is lost between a queue and its sleepers") {
  using events = lci::event_count<atom, lci_model::futex>;
  CHECK(explore(schedules, sleepy_consumers<model_segmented, events>(2, 6, 1, 0)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_segmented, events>(3, 4, 2, 0)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_segmented, events>(1, 9, 3, 0)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_sharded, events>(2, 4, 1, 0)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_sharded, events>(4, 2, 2, 0)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_bounded, events>(2, 4, 2, 16)) == "");
  CHECK(explore(schedules, sleepy_consumers<model_bounded, events>(1, 6, 3, 16)) == "");
}
