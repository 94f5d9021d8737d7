// Active messages through CCS and through the core, to itself: tests/perf/count.py counts their instructions. The
// core's messages have as many bytes as the arguments of CCS's.
#include <ccs.h>

#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

#define PART extern "C" __attribute__((noinline, used)) void

namespace {

constexpr int batch = 16;  // messages in flight: far fewer than a lane holds

lci::device_t device;
lci::rcomp_t to_handler;
CCS_context_t context;
constexpr unsigned without_arguments = 0, with_four = 1;
char data[32] = {};
uint64_t handled = 0;

void on_core(lci::status_t) { ++handled; }
void on_none(CCS_token_t, void*, unsigned) { ++handled; }
void on_four(CCS_token_t, void*, unsigned, long a, long b, long c, void* d) { handled += a + b + c == 6 && d == data; }

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "count_ccs: %s\n", what);
  std::exit(1);
}

void post_core(int n, size_t size) {
  for (int i = 0; i < n; ++i)
    expect(lci::post_am_x(0, data, size, lci::COMP_NULL_RETRY, to_handler).device(device)().is_done(),
           "post_am is not done at once");
}

}  // namespace

PART part_am_0(int n) { post_core(n, 0); }
PART part_am_32(int n) { post_core(n, 32); }
PART part_amrequest_0(int n) {
  for (int i = 0; i < n; ++i)
    expect(CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, without_arguments, 0) == CCS_SUCCESS, "CCS_amrequest");
}
PART part_amrequest_4(int n) {
  for (int i = 0; i < n; ++i)
    expect(CCS_amrequest(context, 0, nullptr, 0, CCS_DATA_NULL, with_four, 4, 1L, 2L, 3L, data) == CCS_SUCCESS,
           "CCS_amrequest");
}
PART part_progress_am_0_16() { (void)lci::progress_x().device(device)(); }
PART part_progress_am_32_16() { (void)lci::progress_x().device(device)(); }
PART part_poll_0_16() { CCS_poll(); }
PART part_poll_4_16() { CCS_poll(); }

namespace {

void turn() {
  uint64_t before = handled;
  const auto all_handled = [&] {
    expect(handled == before + batch, "a call did not deliver the messages");
    before = handled;
  };
  part_am_0(batch);
  part_progress_am_0_16();
  all_handled();
  part_am_32(batch);
  part_progress_am_32_16();
  all_handled();
  part_amrequest_0(batch);
  part_poll_0_16();
  all_handled();
  part_amrequest_4(batch);
  part_poll_4_16();
  all_handled();
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc == 2 ? std::atoi(argv[1]) : 0;
  expect(turns > 0, "usage: count_ccs TURNS (a turn is 16 messages of each kind)");
  expect(CCS_init() == CCS_SUCCESS, "CCS_init");
  lci::g_runtime_init();
  expect(lci::get_rank_n() == 1, "to be run as one rank");
  device = lci::get_default_device();
  lci::comp_t on_message = lci::alloc_handler_x(on_core).am_in_place(true)();
  to_handler = lci::register_rcomp(on_message);
  expect(CCS_new_context(&context) == CCS_SUCCESS, "CCS_new_context");
  expect(CCS_register_handler(context, without_arguments, on_none) == CCS_SUCCESS, "CCS_register_handler");
  expect(CCS_register_handler(context, with_four, on_four) == CCS_SUCCESS, "CCS_register_handler");
  for (int i = 0; i < turns; ++i) turn();
  lci::deregister_rcomp(to_handler);
  lci::free_comp(&on_message);
  lci::g_runtime_fina();
  expect(CCS_finalize() == CCS_SUCCESS, "CCS_finalize");
  return 0;
}
