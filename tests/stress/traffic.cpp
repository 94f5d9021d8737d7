#include "tests/stress/traffic.hpp"

#include <array>

using conf::rank_env;

namespace stress {
namespace {

/// The header of every message, followed by the pattern made with `seed`.
struct front {
  uint64_t seed;
  uint64_t size;
};

std::array<std::atomic<traffic*>, 64> by_rank;  // handlers are plain functions

traffic& mine() { return *by_rank[static_cast<size_t>(rank_env::mine().rank)].load(std::memory_order_acquire); }
void on_message(lci::status_t s) { mine().message_arrived(s); }
void on_signal(lci::status_t s) { mine().signal_arrived(s); }

constexpr size_t sizes[] = {16, 24, 40, 64, 65, 200, 2000, 8000, 8100, 9000, 30'000, 100'000, 150'000};

std::vector<char> framed(size_t size, uint64_t seed) {
  std::vector<char> m(std::max(size, sizeof(front)));
  const front f{seed, m.size()};
  std::memcpy(m.data(), &f, sizeof f);
  conf::fill(m.data() + sizeof f, m.size() - sizeof f, seed);
  return m;
}
bool is_framed(const void* at, size_t size, uint64_t* seed) {
  if (size < sizeof(front)) return false;
  front f;
  std::memcpy(&f, at, sizeof f);
  *seed = f.seed;
  return f.size == size && conf::matches(static_cast<const char*>(at) + sizeof f, size - sizeof f, f.seed);
}

/// Both sides of an exchange must compute the same values.
uint64_t mix(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull ^ b * 0xc2b2ae3d27d4eb4full ^ c * 0x165667b19e3779f9ull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

}  // namespace

traffic::traffic(rank_env& env, const std::vector<lci::device_t>& devices, uint64_t seed)
    : env_(env),
      threads_(static_cast<int>(devices.size())),
      seed_(seed),
      slots_(env, slot_size * devices.size() * static_cast<size_t>(env.size), devices),
      constant_(env, 100'000, devices) {
  by_rank[static_cast<size_t>(env.rank)].store(this, std::memory_order_release);
  conf::fill(constant_.data(), constant_.size(), static_cast<uint64_t>(env.rank));
  messages_ = lci::alloc_handler_x(on_message).am_in_place(true).runtime(env.rt)();
  signals_ = lci::alloc_handler_x(on_signal).runtime(env.rt)();
  message_rcomp_ = lci::register_rcomp_x(messages_).runtime(env.rt)();
  signal_rcomp_ = lci::register_rcomp_x(signals_).runtime(env.rt)();
  env.barrier();
}

traffic::~traffic() {
  lci::deregister_rcomp_x(message_rcomp_).runtime(env_.rt)();
  lci::deregister_rcomp_x(signal_rcomp_).runtime(env_.rt)();
  lci::free_comp_x(&messages_).runtime(env_.rt)();
  lci::free_comp_x(&signals_).runtime(env_.rt)();
  by_rank[static_cast<size_t>(env_.rank)].store(nullptr, std::memory_order_release);
}

void traffic::message_arrived(const lci::status_t& s) {
  uint64_t seed = 0;
  if (!is_framed(s.buffer, s.size, &seed) || s.tag != (seed & 0xffff)) mistake();
  checksum_in_.fetch_add(seed, std::memory_order_relaxed);
  messages_here_.fetch_add(1, std::memory_order_release);
}

void traffic::signal_arrived(const lci::status_t& s) {
  uint64_t seed = 0;
  const auto offset = static_cast<size_t>(static_cast<char*>(s.buffer) - slots_.data());
  if (offset >= slots_.size() || offset % slot_size != 0 || !is_framed(s.buffer, s.size, &seed) ||
      static_cast<int>(offset / slot_size) / threads_ != s.rank)
    mistake();
  signals_here_.fetch_add(1, std::memory_order_release);
}

void traffic::send_messages(int, lci::device_t device, std::mt19937_64& random) {
  for (int i = 0; i < 20; ++i) {
    const int to = static_cast<int>(random() % static_cast<uint64_t>(env_.size));
    const uint64_t seed = random() >> 8;
    const auto m = framed(sizes[random() % std::size(sizes)], seed);
    const bool wait = m.size() > 9000 || random() % 2 == 0;
    env_.post(device, [&] {
      return lci::post_am_x(to, m.data(), m.size(), wait ? lci::COMP_NULL : lci::COMP_NULL_RETRY, message_rcomp_)
          .tag(seed & 0xffff)
          .runtime(env_.rt)
          .device(device)();
    });
    checksum_out_.fetch_add(seed, std::memory_order_relaxed);
    sent_[to].fetch_add(1, std::memory_order_relaxed);
  }
  operations_.fetch_add(20, std::memory_order_relaxed);
}

void traffic::exchange(int thread, lci::device_t device, uint64_t number, lci::comp_t sync) {
  const int step = 1 + static_cast<int>(number % static_cast<uint64_t>(env_.size));
  const int to = (env_.rank + step) % env_.size;
  const int from = (env_.rank + env_.size - step % env_.size) % env_.size;
  const auto t = static_cast<uint64_t>(thread);
  const lci::tag_t tag = (number % 1000) * 64 + t;
  const uint64_t out_seed = mix(number, static_cast<uint64_t>(env_.rank), t);
  const uint64_t in_seed = mix(number, static_cast<uint64_t>(from), t);
  const auto out = framed(sizes[out_seed % std::size(sizes)], out_seed);
  std::vector<char> in(std::max(sizes[in_seed % std::size(sizes)], sizeof(front)));
  auto receive = [&] {
    (void)lci::post_recv_x(from, in.data(), in.size(), tag, sync).allow_done(false).runtime(env_.rt).device(device)();
  };
  const bool first = out_seed % 2 == 0;
  if (first) receive();
  env_.post(device, [&] {
    return lci::post_send_x(to, out.data(), out.size(), tag, sync).allow_done(false).runtime(env_.rt).device(device)();
  });
  if (!first) receive();
  lci::status_t both[2];
  env_.until(device, "an exchange", [&] { return lci::sync_test_x(sync, both).runtime(env_.rt)(); });
  uint64_t seed = 0;
  if (!is_framed(in.data(), in.size(), &seed) || seed != in_seed) mistake();
  operations_.fetch_add(2, std::memory_order_relaxed);
}

void traffic::put_and_get(int thread, lci::device_t device, uint64_t number, lci::comp_t sync) {
  const uint64_t random = mix(seed_, number, static_cast<uint64_t>(env_.rank * 64 + thread));
  const int to = static_cast<int>(random % static_cast<uint64_t>(env_.size));
  const auto m = framed(random % slot_size, random);
  const size_t slot = static_cast<size_t>(env_.rank * threads_ + thread) * slot_size;
  std::vector<char> back(1 + (random >> 20) % 50'000);
  const size_t skip = (random >> 40) % 50'000;
  env_.post(device, [&] {
    return lci::post_put_x(to, m.data(), m.size(), sync, slot, slots_.of(to, static_cast<size_t>(thread)))
        .remote_comp(signal_rcomp_)
        .allow_done(false)
        .runtime(env_.rt)
        .device(device)();
  });
  env_.post(device, [&] {
    return lci::post_get_x(to, back.data(), back.size(), sync, skip, constant_.of(to, static_cast<size_t>(thread)))
        .allow_done(false)
        .runtime(env_.rt)
        .device(device)();
  });
  lci::status_t both[2];
  env_.until(device, "a put and a get", [&] { return lci::sync_test_x(sync, both).runtime(env_.rt)(); });
  if (!conf::matches(back.data(), back.size(), static_cast<uint64_t>(to), skip)) mistake();
  put_[to].fetch_add(1, std::memory_order_relaxed);
  operations_.fetch_add(2, std::memory_order_relaxed);
}

void traffic::round(int thread, lci::device_t device, uint64_t number) {
  std::mt19937_64 random(mix(seed_ + 1, number, static_cast<uint64_t>(env_.rank * 64 + thread)));
  auto sync = lci::alloc_sync_x().threshold(2).runtime(env_.rt)();
  send_messages(thread, device, random);
  exchange(thread, device, number, sync);
  put_and_get(thread, device, number, sync);
  send_messages(thread, device, random);
  exchange(thread, device, number + 500, sync);
  lci::free_comp_x(&sync).runtime(env_.rt)();
}

void traffic::end_round() {
  struct totals {
    uint64_t sent[64], put[64], out, in;
  } mine{};
  for (int r = 0; r < env_.size; ++r) {
    mine.sent[r] = sent_[r].load(std::memory_order_relaxed);
    mine.put[r] = put_[r].load(std::memory_order_relaxed);
  }
  const auto before = env_.all_gather(mine);
  uint64_t messages = 0, signals = 0;
  for (const auto& t : before) {
    messages += t.sent[env_.rank];
    signals += t.put[env_.rank];
  }
  env_.until("all messages and signals", [&] {
    env_.progress_all();
    return messages_here_.load(std::memory_order_acquire) >= messages &&
           signals_here_.load(std::memory_order_acquire) >= signals;
  });
  mine.out = checksum_out_.load(std::memory_order_relaxed);
  mine.in = checksum_in_.load(std::memory_order_relaxed);
  const auto after = env_.all_gather(mine);
  uint64_t out = 0, in = 0;
  for (const auto& t : after) {
    out += t.out;
    in += t.in;
  }
  auto& env = env_;
  EXPECT_EQ(out, in);
  EXPECT_EQ(messages_here_.load(std::memory_order_relaxed), messages);
  EXPECT_EQ(signals_here_.load(std::memory_order_relaxed), signals);
  EXPECT_EQ(mistakes_.load(std::memory_order_relaxed), uint64_t{0});
}

}  // namespace stress
