// Posts and progresses small messages to itself, for a count of instructions: tests/perf/count.py
// runs it under callgrind and reads what each function whose name begins with `part_` has cost.
//
// A rank reaches itself through a lane of shared memory, as it reaches any peer: the path counted
// is the path taken between processes. One thread, so that the count is the same each time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

#define PART extern "C" __attribute__((noinline, used)) void

namespace {

constexpr int batch = 16;  // messages in flight: far fewer than a lane holds

lci::device_t device;
lci::comp_t cq, local_cq, counter;
lci::rcomp_t to_handler, to_cq;
lci::stream_t stream;
lci::rmr_t shared;
uint64_t handled = 0;
char out[8] = "message", in[8];

void handler(lci::status_t status) { handled += status.size != 0; }

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "count: %s\n", what);
  std::exit(1);
}

void expect(bool ok, const char* what) {
  if (!ok) fail(what);
}

}  // namespace

// Each part is one call of the library, n times; its loop costs two or three instructions a turn.

PART part_post_am(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_am_x(0, out, sizeof out, counter, to_handler).device(device)().is_done(),
           "post_am is not done at once");
  }
}
PART part_post_am_plain(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_am(0, out, sizeof out, counter, to_handler).is_done(), "post_am is not done at once");
  }
}
PART part_progress_am() { lci::progress_x().device(device)(); }
PART part_progress_am_16() { lci::progress_x().device(device)(); }
PART part_progress_idle() { lci::progress_x().device(device)(); }

PART part_post_ordered(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_am_x(0, out, sizeof out, counter, to_handler).device(device).stream(stream)().is_done(),
           "post_am in a stream is not done at once");
  }
}
PART part_progress_ordered_16() { lci::progress_x().device(device)(); }

PART part_post_am_cq(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_am_x(0, out, sizeof out, counter, to_cq).device(device)().is_done(),
           "post_am is not done at once");
  }
}
PART part_progress_am_cq_16() { lci::progress_x().device(device)(); }
PART part_pop_and_free(int n) {
  for (int i = 0; i < n; ++i) {
    const lci::status_t status = lci::cq_pop(cq);
    expect(status.is_done(), "the completion queue is empty");
    std::free(status.buffer);
  }
}
PART part_cq_push(int n) {
  for (int i = 0; i < n; ++i) lci::comp_signal(local_cq, lci::status_t(lci::errorcode_t::done));
}
PART part_cq_pop(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::cq_pop(local_cq).is_done(), "the completion queue is empty");
  }
}

PART part_cq_pop_many(int n) {
  lci::status_t statuses[batch];
  expect(lci::cq_pop_many(local_cq, static_cast<size_t>(n), statuses) == static_cast<size_t>(n),
         "the completion queue has too few");
}

PART part_put_shared(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_put_x(0, out, sizeof out, counter, 0, shared).device(device)().is_done(),
           "a put to shared memory is not done at once");
  }
}
PART part_put_signal(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_put_x(0, out, sizeof out, counter, 0, shared).remote_comp(to_handler).device(device)().is_done(),
           "a put with signal to shared memory is not done at once");
  }
}
PART part_progress_signal() { lci::progress_x().device(device)(); }
PART part_get_shared(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_get_x(0, in, sizeof in, counter, 0, shared).device(device)().is_done(),
           "a get from shared memory is not done at once");
  }
}

PART part_fetch_add_shared(int n) {
  const uint64_t one = 1;
  uint64_t before = 0;
  for (int i = 0; i < n; ++i) {
    expect(lci::post_atomic_x(0, lci::atomic_op_t::add, &one, &before, counter, 0, shared).device(device)().is_done(),
           "an atomic operation on shared memory is not done at once");
  }
}

PART part_post_recv(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_recv_x(0, in, sizeof in, 7, counter).device(device)().is_posted(), "post_recv finds a message");
  }
}
PART part_post_send(int n) {
  for (int i = 0; i < n; ++i) {
    expect(lci::post_send_x(0, out, sizeof out, 7, counter).device(device)().is_done(),
           "post_send is not done at once");
  }
}
PART part_progress_send_16() { lci::progress_x().device(device)(); }

namespace {

void turn() {
  for (int i = 0; i < batch; ++i) {
    const uint64_t before = handled;
    part_post_am(1);
    part_progress_am();
    expect(handled == before + 1, "a progress call did not deliver the message");
    part_progress_idle();
  }
  for (int i = 0; i < batch; ++i) {
    const uint64_t before = handled;
    part_put_signal(1);
    part_progress_signal();
    expect(handled == before + 1, "a progress call did not deliver the signal");
  }
  const uint64_t before = handled;
  part_post_am_plain(batch);
  part_progress_am_16();
  expect(handled == before + batch, "a progress call did not deliver the messages");

  part_post_am_cq(batch);
  part_progress_am_cq_16();
  part_pop_and_free(batch);
  part_cq_push(batch);
  part_cq_pop(batch);
  part_cq_push(batch);
  part_cq_pop_many(batch);
  part_put_shared(batch);
  part_get_shared(batch);
  part_fetch_add_shared(batch);

  const int64_t counted = lci::counter_get(counter);
  part_post_recv(batch);
  part_post_send(batch);
  part_progress_send_16();
  expect(lci::counter_get(counter) == counted + batch, "a progress call did not fill the receives");

  part_post_ordered(batch);
  part_progress_ordered_16();
  expect(handled == before + 2 * batch, "a progress call did not deliver the messages of a stream");
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc == 2 ? std::atoi(argv[1]) : 0;
  if (turns <= 0) fail("usage: count TURNS (a turn is 16 messages of each kind)");
  lci::g_runtime_init();
  expect(lci::get_rank_n() == 1, "to be run as one rank");
  device = lci::get_default_device();
  lci::comp_t on_message = lci::alloc_handler_x(handler).am_in_place(true)();
  cq = lci::alloc_cq();
  local_cq = lci::alloc_cq();
  counter = lci::alloc_counter();
  to_handler = lci::register_rcomp(on_message);
  to_cq = lci::register_rcomp(cq);
  stream = lci::alloc_stream();
  lci::mr_t memory = lci::alloc_shared(64);
  shared = lci::get_rmr(memory);
  for (int i = 0; i < turns; ++i) turn();
  lci::free_shared(&memory);
  lci::free_stream(&stream);
  lci::deregister_rcomp(to_cq);
  lci::deregister_rcomp(to_handler);
  for (lci::comp_t* c : {&on_message, &cq, &local_cq, &counter}) lci::free_comp(c);
  lci::g_runtime_fina();
  return 0;
}
