// Messages of a stream that are released in the short way are counted as if each had been released in the long way.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include "lib/core/stream/stream.hpp"

using lci::core::outgoing_stream;

namespace {

struct stream_run {
  uint64_t window, window_bytes, largest;
};

/// One message each way. Returns whether it went the short way.
bool release_both(outgoing_stream& shortly, outgoing_stream& plain, uint64_t size) {
  plain.catch_up();
  REQUIRE(plain.has_room());
  const bool asks = plain.asks_credit(size);
  plain.release(size, asks);
  ++plain.next;
  if (shortly.is_easy(size)) {
    REQUIRE_FALSE(asks);
    shortly.release_easy(size);
    return true;
  }
  shortly.catch_up();
  REQUIRE(shortly.has_room());
  REQUIRE(shortly.asks_credit(size) == asks);
  shortly.release(size, asks);
  ++shortly.next;
  shortly.grant();
  return false;
}

void require_equal(outgoing_stream& a, outgoing_stream& b) {
  a.catch_up();
  b.catch_up();
  REQUIRE(std::pair(a.next, a.sent) == std::pair(b.next, b.sent));
  REQUIRE(std::pair(a.unasked, a.unasked_bytes) == std::pair(b.unasked, b.unasked_bytes));
  REQUIRE(a.sent_bytes == b.sent_bytes);
}

}  // namespace

TEST_CASE("messages of a stream that need no credit are released in a short way") {
  const stream_run runs[] = {{4, 1 << 20, 8},    {5, 1 << 20, 0}, {64, 1000, 100},     {64, 1, 3},
                             {4096, 1 << 24, 8}, {100, 500, 500}, {1 << 20, 4096, 64}, {8, UINT64_MAX, 1 << 30}};
  for (const stream_run& r : runs) {
    lci::stream_attr_t attr;
    attr.window = r.window;
    attr.window_bytes = r.window_bytes;
    outgoing_stream shortly(attr), plain(attr);
    // As if many messages had been sent, so that the numbers wrap.
    for (outgoing_stream* each : {&shortly, &plain}) each->next = each->sent = each->delivered = UINT32_MAX - 1000;
    std::mt19937_64 random(r.window * 7919 + r.window_bytes);
    uint64_t n_short = 0;
    for (int i = 0; i < 20000; ++i) {
      plain.catch_up();
      if (!plain.has_room()) {
        REQUIRE_FALSE(shortly.is_easy(0));
        shortly.catch_up();
        REQUIRE_FALSE(shortly.has_room());
      }
      if (!plain.has_room() || random() % 1000 == 0) {
        // Credit: a part of what was sent has been delivered.
        require_equal(shortly, plain);
        const uint32_t n = plain.sent - plain.delivered;
        const bool all = random() % 2 == 0 || !plain.has_room();
        for (outgoing_stream* each : {&shortly, &plain}) {
          each->delivered += all ? n : 0;
          if (all) each->delivered_bytes = each->sent_bytes;
        }
      }
      if (random() % 5000 == 0)
        for (outgoing_stream* each : {&shortly, &plain}) each->begin_anew();
      if (shortly.has_begun_anew()) shortly.catch_up();  // as before each message
      n_short += release_both(shortly, plain, r.largest == 0 ? 0 : random() % (r.largest + 1));
    }
    require_equal(shortly, plain);
    if (r.window >= 4096 && r.window_bytes >= 1 << 24) REQUIRE(n_short > 19000);
  }
}

TEST_CASE("a new window of a stream counts for messages that would have been released in a short way") {
  lci::stream_attr_t attr;
  attr.window = 4096;
  attr.window_bytes = 1 << 20;
  outgoing_stream out(attr);
  out.catch_up();
  out.release(8);
  ++out.next;
  out.grant();
  REQUIRE(out.is_easy(8));
  out.release_easy(8);
  out.settle();
  out.window = 2;
  REQUIRE_FALSE(out.is_easy(0));
  REQUIRE_FALSE(out.has_room());
  REQUIRE(out.sent == 2);
  REQUIRE(out.sent_bytes == 16);
}
