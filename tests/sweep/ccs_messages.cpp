// Active messages of CCS of all sizes, their replies, and collectives.
#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <vector>

#include "tests/sweep/ccs_scene.hpp"

namespace sweep {

namespace {

enum : unsigned { on_message, on_request, on_reply, on_large };

CCS_context_t the_context = 0;
int next_expected = 0;  // messages arrive in order
int n_replies = 0;
std::vector<std::vector<char>> large_data;
std::array<int, n_operations> n_offers{};

size_t length_of(int i) { return std::min<size_t>(size_of(i), CCS_MAX_AM_LENGTH); }

void note(int i, outcome what) {
  if (i < 0 || i >= n_operations) fail("a message with number %d", i);
  if (result_of(me, i).exchange(what) != outcome::none) fail("message %d ends twice", i);
}

void check_message(const void* buffer, unsigned size, int i, int extra) {
  if (i < next_expected) fail("message %d arrives after message %d", i, next_expected - 1);
  next_expected = i + 1;
  if (extra != ~i || size != length_of(i) || !is_filled(buffer, size, i)) fail("message %d has wrong content", i);
  note(i, outcome::good);
}

void handle_message(CCS_token_t, void* buffer, unsigned size, int i, int extra) {
  check_message(buffer, size, i, extra);
}

void handle_request(CCS_token_t token, void* buffer, unsigned size, int i, int extra) {
  check_message(buffer, size, i, extra);
  if (succeeds("CCS_amreply", CCS_amreply(token, buffer, size, CCS_DATA8, on_reply, 1, i))) page->posted.fetch_add(1);
}

void handle_reply(CCS_token_t, void* buffer, unsigned size, int i) {
  if (size != length_of(i) || !is_filled(buffer, size, i)) fail("reply %d has wrong content", i);
  ++n_replies;
}

void* as_pointer(int i) { return reinterpret_cast<void*>(static_cast<intptr_t>(i)); }
int as_number(void* p) { return static_cast<int>(reinterpret_cast<intptr_t>(p)); }

void take_large(void* number) {
  const int i = as_number(number);
  if (!is_filled(large_data[static_cast<size_t>(i)].data(), size_of(i), i))
    fail("large message %d has wrong content", i);
  note(i, outcome::good);
}

bool is_delayed(int i) { return i % 3 == 1; }
bool is_refused(int i) { return i % 4 == 3; }

int offer_large(CCS_token_t, size_t size, void** dest, size_t* count, CCS_datadesc_t* desc, CCS_callback_t* done,
                void** done_arg, unsigned num_args, ...) {
  va_list list;
  va_start(list, num_args);
  const auto i = static_cast<int>(va_arg(list, CCS_handler_arg_t));
  va_end(list);
  if (num_args != 1 || i < 0 || i >= n_operations || size != size_of(i)) fail("an offer of large message %d", i);
  const int offers = ++n_offers[static_cast<size_t>(i)];
  if (is_delayed(i) && offers == 1) return CCS_AGAIN;
  if (offers != (is_delayed(i) ? 2 : 1)) fail("large message %d is offered %d times", i, offers);
  if (is_refused(i)) return CCS_FAILURE;
  *dest = large_data[static_cast<size_t>(i)].data();
  *count = size;
  *desc = CCS_DATA8;
  *done = take_large;
  *done_arg = as_pointer(i);
  return CCS_SUCCESS;
}

void end_large(void* number) {
  const int i = as_number(number);
  if (CCS_callback_status() != (is_refused(i) ? CCS_FAILURE : CCS_SUCCESS)) fail("large message %d ends wrongly", i);
  note(i, outcome::good);
}

/// Rank 0 calls `post(i)` for each message. Checks that the target, rank 1 or rank 0 itself, receives exactly the
/// messages whose post has succeeded.
template <class Post, class Expected>
void flow(Post post, Expected is_expected) {
  const int receiver = n_ranks - 1;
  next_expected = n_replies = 0;
  n_offers.fill(0);
  forget_results();
  page->posted.store(0);
  page->ended[0].store(0);
  meet();
  arm(me);
  std::array<bool, n_operations> sent{};
  if (me == 0) {
    for (int i = 0; i < n_operations; ++i) {
      sent[static_cast<size_t>(i)] = post(i);
      page->keys[static_cast<size_t>(i)].bytes[0] = sent[static_cast<size_t>(i)] ? 1 : 0;
    }
    page->ended[0].store(1);
  }
  if (me == receiver) {
    until("all messages to be sent", [] { return page->ended[0].load() == 1; });
    const auto is_sent = [](int i) { return page->keys[static_cast<size_t>(i)].bytes[0] == 1; };
    until("all sent messages to arrive", [&] {
      for (int i = 0; i < n_operations; ++i)
        if (is_sent(i) && is_expected(i) && result_of(me, i).load() != outcome::good) return false;
      return true;
    });
    for (int i = 0; i < n_operations; ++i)
      if (!is_sent(i) && result_of(me, i).load() != outcome::none)
        fail("message %d arrives although it was refused", i);
  }
  meet();
  disarm();
}

int request(unsigned handler, int i) {
  std::vector<char> data;
  {
    const pause here;
    data.resize(length_of(i));
    fill(data.data(), data.size(), i);
  }
  return CCS_amrequest(the_context, peer(), data.data(), static_cast<unsigned>(data.size()), CCS_DATA8, handler, 2, i,
                       ~i);
}

bool always(int) { return true; }

}  // namespace

CCS_context_t context() { return the_context; }

void register_handlers() {
  insist("CCS_new_context", [] { return CCS_new_context(&the_context); });
  insist("CCS_register_handler", [] { return CCS_register_handler(the_context, on_message, handle_message); });
  insist("CCS_register_handler", [] { return CCS_register_handler(the_context, on_request, handle_request); });
  insist("CCS_register_handler", [] { return CCS_register_handler(the_context, on_reply, handle_reply); });
  insist("CCS_register_large_handler", [] { return CCS_register_large_handler(the_context, on_large, offer_large); });
}

void messages() {
  flow([](int i) { return succeeds("CCS_amrequest", request(on_message, i)); }, always);
}

void replies() {
  flow([](int i) { return succeeds("CCS_amrequest", request(on_request, i)); }, always);
  if (me == 0) until("all replies", [] { return n_replies == page->posted.load(); });
  meet();
}

void large() {
  std::vector<std::vector<char>> from;
  for (int i = 0; i < n_operations; ++i) {
    large_data.emplace_back(size_of(i));
    from.emplace_back(size_of(i));
    fill(from.back().data(), from.back().size(), i);
  }
  // With one rank, sender and target share the results, so the sender must not record its own.
  const CCS_callback_t at_end = n_ranks == 1 ? nullptr : end_large;
  flow(
      [&](int i) {
        const std::vector<char>& data = from[static_cast<size_t>(i)];
        return succeeds("CCS_amlarge", CCS_amlarge(the_context, peer(), const_cast<char*>(data.data()), data.size(),
                                                   CCS_DATA8, on_large, at_end, as_pointer(i), 1, i));
      },
      [](int i) { return !is_refused(i); });
  if (me == 0 && n_ranks > 1)
    for (int i = 0; i < n_operations; ++i)
      if (page->keys[static_cast<size_t>(i)].bytes[0] == 1)
        until("the end of a large message", [&] { return result_of(0, i).load() == outcome::good; });
  insist("CCS_allfence", CCS_allfence);
  meet();
  large_data.clear();
}

void collectives() {
  constexpr int n = 3000;
  std::vector<int64_t> mine(n), all(n);
  meet();
  arm(me);
  for (int round = 0; round < 3; ++round) {
    insist("CCS_barrier", CCS_barrier);
    for (int i = 0; i < n; ++i) mine[static_cast<size_t>(i)] = me == 0 ? i + round : 0;
    insist("CCS_bcast", [&] { return CCS_bcast(mine.data(), n, CCS_DATA64, 0); });
    for (int i = 0; i < n; ++i)
      if (mine[static_cast<size_t>(i)] != i + round) fail("a broadcast has a wrong number");
    insist("CCS_allreduce", [&] { return CCS_allreduce(mine.data(), all.data(), n, CCS_INT64, CCS_SUM); });
    for (int i = 0; i < n; ++i)
      if (all[static_cast<size_t>(i)] != n_ranks * (i + round)) fail("a sum of all is wrong");
    insist("CCS_reduce",
           [&] { return CCS_reduce(mine.data(), me == 0 ? all.data() : nullptr, n, CCS_INT64, CCS_MAX, 0); });
    for (int i = 0; i < n && me == 0; ++i)
      if (all[static_cast<size_t>(i)] != i + round) fail("a maximum of all is wrong");
  }
  // Messages with non-contiguous data, which CCS packs.
  CCS_datadesc_t every_second = CCS_DATA_NULL;
  while (CCS_datadesc_create_vector(n / 2, 1, 16, CCS_DATA64, &every_second) != CCS_SUCCESS)
    (void)succeeds("CCS_datadesc_create_vector", CCS_NOMEM);
  for (int i = 0; i < n; ++i) mine[static_cast<size_t>(i)] = me == 0 ? -i : i;
  insist("CCS_bcast", [&] { return CCS_bcast(mine.data(), 1, every_second, 0); });
  for (int i = 0; i < n; ++i)
    if (mine[static_cast<size_t>(i)] != (me == 0 || i % 2 == 0 ? -i : i)) fail("a broadcast has wrong described data");
  CCS_datadesc_free(&every_second);
  disarm();
}

void symmetric() {
  meet();
  arm(me);
  for (int round = 0; round < 4; ++round) {
    void* memory = nullptr;
    const int result = CCS_malloc_symmetric(100000, &memory);
    // If one rank lacks memory, the call must fail at all ranks.
    const bool good = result == CCS_SUCCESS;
    if (!good && result != CCS_NOMEM) fail("CCS_malloc_symmetric returns %d", result);
    publish(0, memory);  // includes a barrier
    if (good != (memory != nullptr) || published(0, static_cast<int>(peer())) != memory)
      fail("the ranks do not agree on symmetric memory");
    meet();
    if (!good) continue;
    std::memset(memory, 1, 100000);
    insist("CCS_free_symmetric", [&] { return CCS_free_symmetric(memory); });
  }
  disarm();
}

}  // namespace sweep
