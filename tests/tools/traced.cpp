// A rank that uses all operations with its right neighbour, and prints the counters of its device as JSON. Run with
// counters and a trace. Exit code 9: an error, with its text on stderr.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

/// Larger than any network sends without a handshake.
constexpr size_t large = 300'000;

void ignore(lci::status_t status) { std::free(status.buffer); }

template <class Post>
void finish(lci::comp_t sync, Post post) {
  lci::status_t status;
  while ((status = post()).is_retry()) lci::progress();
  if (status.is_posted()) lci::sync_wait(sync, &status);
}

void communicate(int me, int n) {
  const int right = (me + 1) % n, left = (me + n - 1) % n;
  auto sync = lci::alloc_sync();
  auto handler = lci::alloc_handler(ignore);
  const auto rcomp = lci::register_rcomp(handler);
  auto signals = lci::alloc_counter();
  const auto signal = lci::register_rcomp(signals);
  std::vector<char> out(large, 'o'), in(large), window(large);
  auto mr = lci::register_memory(window.data(), window.size());
  std::vector<lci::rmr_t> rmrs(static_cast<size_t>(n));
  const lci::rmr_t mine = lci::get_rmr(mr);
  lci::allgather(&mine, rmrs.data(), sizeof mine);
  const lci::rmr_t there = rmrs[static_cast<size_t>(right)];

  for (lci::tag_t tag = 1; tag <= 40; ++tag)
    for (const size_t size : {size_t{8}, size_t{2000}})
      finish(sync, [&] { return lci::post_am_x(right, out.data(), size, sync, rcomp).tag(tag)(); });
  finish(sync, [&] { return lci::post_am_x(right, out.data(), large, sync, rcomp).tag(41)(); });
  for (const size_t size : {size_t{8}, large}) {
    auto received = lci::alloc_sync();
    const auto status = lci::post_recv(left, in.data(), size, 1, received);
    finish(sync, [&] { return lci::post_send(right, out.data(), size, 1, sync); });
    if (status.is_posted()) lci::sync_wait(received, nullptr);
    lci::free_comp(&received);
  }
  finish(sync, [&] { return lci::post_put_x(right, out.data(), 1000, sync, 0, there).remote_comp(signal)(); });
  finish(sync, [&] { return lci::post_get(right, in.data(), 500, sync, 0, there); });
  while (lci::counter_get(signals) < 1) lci::progress();
  lci::barrier();
  // Until a message has to wait in the backlog, and leaves with a later progress.
  auto flooded = lci::alloc_counter();
  const auto to_flooded = lci::register_rcomp(flooded);
  long long sent = 0;
  lci::status_t status;
  do {
    status = lci::post_am_x(me, out.data(), 8, lci::COMP_NULL, to_flooded).tag(4243).allow_retry(false)();
    ++sent;
  } while (status.error.errorcode != lci::errorcode_t::done_backlog);
  while (lci::counter_get(flooded) < sent) lci::progress();
  // The last operation, to this rank itself.
  auto last = lci::alloc_counter();
  const auto to_last = lci::register_rcomp(last);
  finish(sync, [&] { return lci::post_am_x(me, out.data(), 7, sync, to_last).tag(4242)(); });
  while (lci::counter_get(last) < 1) lci::progress();
  lci::deregister_memory(&mr);
  for (lci::comp_t* comp : {&sync, &handler, &signals, &flooded, &last}) lci::free_comp(comp);
}

void show(const char* name, const lci::count_t& count, const char* end = ", ") {
  std::printf("\"%s\": [%llu, %llu]%s", name, static_cast<unsigned long long>(count.messages),
              static_cast<unsigned long long>(count.bytes), end);
}

void run() {
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  communicate(me, n);
  if (lci::get_default_device().get_attr_counters()) {
    const lci::counters_t c = lci::get_counters();
    std::printf("{\"rank\": %d, ", me);
    show("am_sent", c.am_sent), show("am_received", c.am_received);
    show("send_sent", c.send_sent), show("send_received", c.send_received);
    show("signal_sent", c.signal_sent), show("signal_received", c.signal_received);
    show("recv", c.recv), show("put", c.put), show("get", c.get, "}\n");
  }
  std::fflush(stdout);
  lci::g_runtime_fina();
}

}  // namespace

int main(int argc, char** argv) {
  const int runtimes = argc > 1 ? std::stoi(argv[1]) : 1;
  try {
    for (int i = 0; i < runtimes; ++i) run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 9;
  }
  return 0;
}
