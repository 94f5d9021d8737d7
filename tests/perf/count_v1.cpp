// The same messages through LCI v1.7's interface and through the core's, to itself: tests/perf/count.py counts their
// instructions. Messages have 8 bytes that are not 0, and complete through the same kind of object.
#include <lci.h>

#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

#define PART extern "C" __attribute__((noinline, used)) void

namespace {

constexpr int batch = 16;  // messages in flight: far fewer than a lane holds

lci::device_t device;
lci::rcomp_t to_handler;
lci::comp_t syncs[batch];
LCI_endpoint_t to_v1_handler;
LCI_comp_t v1_syncs[batch];
LCI_short_t message;
char into[batch][sizeof(LCI_short_t)];
uint64_t handled = 0;

void on_core(lci::status_t status) { handled += status.size != 0; }
void on_v1(LCI_request_t request) { handled += request.type == LCI_IMMEDIATE; }

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "count_v1: %s\n", what);
  std::exit(1);
}

}  // namespace

PART part_am(int n) {
  for (int i = 0; i < n; ++i)
    expect(lci::post_am_x(0, &message, 8, lci::COMP_NULL_RETRY, to_handler).device(device)().is_done(),
           "post_am is not done at once");
}
PART part_puts(int n) {
  for (int i = 0; i < n; ++i)
    expect(LCI_puts(to_v1_handler, message, 0, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_OK, "LCI_puts returns no LCI_OK");
}
PART part_progress_am_16() { (void)lci::progress_x().device(device)(); }
PART part_progress_puts_16() { (void)LCI_progress(LCI_UR_DEVICE); }

PART part_recv(int n) {
  for (int i = 0; i < n; ++i)
    expect(lci::post_recv_x(0, into[i], sizeof message, 1, syncs[i]).device(device)().is_posted(), "post_recv");
}
PART part_recvs(int n) {
  for (int i = 0; i < n; ++i)
    expect(LCI_recvs(LCI_UR_ENDPOINT, 0, 1, v1_syncs[i], nullptr) == LCI_OK, "LCI_recvs returns no LCI_OK");
}
PART part_send(int n) {
  for (int i = 0; i < n; ++i)
    expect(lci::post_send_x(0, &message, 8, 1, lci::COMP_NULL_RETRY).device(device)().is_done(),
           "post_send is not done at once");
}
PART part_sends(int n) {
  for (int i = 0; i < n; ++i) expect(LCI_sends(LCI_UR_ENDPOINT, message, 0, 1) == LCI_OK, "LCI_sends");
}
PART part_progress_send_16() { (void)lci::progress_x().device(device)(); }
PART part_progress_sends_16() { (void)LCI_progress(LCI_UR_DEVICE); }
PART part_test(int n) {
  lci::status_t status;
  for (int i = 0; i < n; ++i) expect(lci::sync_test(syncs[i], &status), "a synchronizer has not fired");
}
PART part_v1_test(int n) {
  LCI_request_t request;
  for (int i = 0; i < n; ++i) expect(LCI_sync_test(v1_syncs[i], &request) == LCI_OK, "a synchronizer has not fired");
}

namespace {

void turn() {
  const uint64_t before = handled;
  part_am(batch);
  while (handled < before + batch) part_progress_am_16();
  part_puts(batch);
  while (handled < before + 2 * batch) part_progress_puts_16();
  part_recv(batch);
  part_send(batch);
  part_progress_send_16();
  part_test(batch);
  part_recvs(batch);
  part_sends(batch);
  part_progress_sends_16();
  part_v1_test(batch);
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc == 2 ? std::atoi(argv[1]) : 0;
  expect(turns > 0, "usage: count_v1 TURNS (a turn is 16 messages of each kind)");
  expect(LCI_initialize() == LCI_OK, "LCI_initialize");
  lci::g_runtime_init();
  device = lci::get_default_device();
  lci::comp_t on_message = lci::alloc_handler_x(on_core).am_in_place(true)();
  to_handler = lci::register_rcomp(on_message);
  for (lci::comp_t& s : syncs) s = lci::alloc_sync();
  LCI_comp_t handler;
  LCI_plist_t plist;
  LCI_handler_create(LCI_UR_DEVICE, on_v1, &handler);
  LCI_plist_create(&plist);
  LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_HANDLER);
  LCI_plist_set_default_comp(plist, handler);
  expect(LCI_endpoint_init(&to_v1_handler, LCI_UR_DEVICE, plist) == LCI_OK, "LCI_endpoint_init");
  LCI_plist_free(&plist);
  for (LCI_comp_t& s : v1_syncs) LCI_sync_create(LCI_UR_DEVICE, 1, &s);
  message.words[0] = 1;
  for (int i = 0; i < turns; ++i) turn();
  LCI_finalize();
  lci::deregister_rcomp(to_handler);
  lci::free_comp(&on_message);
  for (lci::comp_t& s : syncs) lci::free_comp(&s);
  lci::g_runtime_fina();
  return 0;
}
