// Damaged messages, and processes that die: waiting calls end with a code, and other processes are not affected.
#include <mercury_callback.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/layers/mercury/functions.hpp"
#include "tests/layers/mercury/tap.hpp"

namespace {

using namespace test;

constexpr const char* url = "tcp";
constexpr size_t largest = 4096;
constexpr size_t response_header_size = 24;

/// Calls the server's function "null" `times` times, and prints the code with which each call ends.
int call_null_often(const std::string& name, int times) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  for (int i = 0; i < times; ++i) say(HG_Error_to_string(h.call(server, h.ids.null, nullptr, nullptr)));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

/// Calls the function "open" of the server `times` times. Prints the code of each call, and if its result is right.
int open_often(const std::string& name, int times) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  for (int i = 0; i < times; ++i) {
    open_in_t in{"a path", 77};
    open_out_t out{0, 0};
    const hg_return_t code = h.call(server, h.ids.open, &in, &out);
    if (code == HG_SUCCESS) REQUIRE(out.ret == 6 && out.event_id == 77);
    say(HG_Error_to_string(code));
  }
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

/// This process forwards messages between a client and a server, and damages them.
void damaged_messages() {
  const network net(url, true);
  tap between(net);
  process server({"serve"});
  const std::string name = server.line();
  const na_addr_t server_address = net.find(name);
  na_tag_t tag = 2;
  const auto answer_to = [&](const std::string& bytes) { return between.answer_to(server_address, tag += 2, bytes); };

  process first({"open", net.own_name(), "1"});
  const captured request = between.next(false);
  const std::string response = answer_to(request.bytes);
  REQUIRE(result_in(response) == HG_SUCCESS && response.size() > response_header_size);
  between.send(request.source, request.tag | na::answer_bit, response);
  REQUIRE(first.line() == "HG_SUCCESS" && first.wait() == 0);

  for (size_t i = 0; i < request.bytes.size(); ++i) {
    std::string changed = request.bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
    hg_return_t code = result_in(answer_to(changed));
    REQUIRE(code == HG_PROTOCOL_ERROR || code == HG_CHECKSUM_ERROR);
    code = result_in(answer_to(request.bytes.substr(0, i)));
    REQUIRE(code == HG_PROTOCOL_ERROR || code == HG_CHECKSUM_ERROR);
  }
  REQUIRE(result_in(answer_to(std::string(largest, 'x'))) == HG_PROTOCOL_ERROR);
  REQUIRE(result_in(answer_to(std::string(largest + 1, 'x'))) == HG_PROTOCOL_ERROR);
  REQUIRE(result_in(answer_to(request.bytes)) == HG_SUCCESS);

  const auto damage_answers_to = [&](const char* function, size_t size) {
    process client({function, net.own_name(), std::to_string(2 * size + 1)});
    for (size_t i = 0; i <= 2 * size; ++i) {
      const captured c = between.next(false);
      const std::string whole = answer_to(c.bytes);
      REQUIRE(whole.size() == size);
      std::string changed = whole;
      const size_t at = i / 2;
      const bool is_whole = at == size, is_cut = i % 2 == 1;
      if (is_cut)
        changed.resize(at);
      else if (!is_whole)
        changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
      // Answers to other calls, or with unknown tags, have no effect.
      between.send(c.source, 0x7fffffff, whole);
      between.send(c.source, c.tag | na::answer_bit, changed);
      const std::string code = client.line();
      if (is_whole) REQUIRE(code == "HG_SUCCESS");
      if (!is_whole) REQUIRE(code == "HG_PROTOCOL_ERROR" || code == "HG_CHECKSUM_ERROR");
      // A second answer, after the call has ended. The client exits after its last call, so that one gets no such
      // answer.
      if (i < 2 * size) between.send(c.source, c.tag | na::answer_bit, whole);
    }
    REQUIRE(client.wait() == 0);
  };
  damage_answers_to("open", response.size());
  damage_answers_to("null", sizeof(uint64_t));  // answers without results are shorter than their header
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, server_address));
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

void servers_that_die() {
  const hg h(url);
  {
    process server({"serve"});  // while it executes the call
    const na_addr_t address = h.find(server.line());
    REQUIRE_HG(HG_NA_ERROR, h.call(address, h.ids.die, nullptr, nullptr));
    REQUIRE(server.wait() == 5);
    const double begin = now();  // before the call
    REQUIRE_HG(HG_NA_ERROR, h.call(address, h.ids.null, nullptr, nullptr));
    REQUIRE(now() - begin < 10);
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
  }
  process server({"serve"});
  const std::string name = server.line();
  const na_addr_t address = h.find(name);
  hg_request_t request = HG_REQUEST_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Forward(address, h.ids.keep, nullptr, nullptr, &request));
  REQUIRE(server.line() == "kept");
  hg_status_t status = HG_TRUE;
  REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 100, &status));
  REQUIRE(status == HG_FALSE);
  server.kill(SIGKILL);
  REQUIRE_HG(HG_NA_ERROR, HG_Wait(request, 20000, &status));
  REQUIRE(status == HG_TRUE);
  REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
}

int call_with_much_memory(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  const size_t size = size_t{64} << 20;
  hg_bulk_t memory = HG_BULK_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Bulk_handle_create(1, nullptr, &size, HG_BULK_READWRITE, &memory));
  for (;;) {
    bulk_in_t in{memory, 0, size, 1};
    number_t out{0};
    hg_request_t request = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(server, h.ids.pull, &in, &out, &request));
    say("called");
    REQUIRE_HG(HG_SUCCESS, HG_Wait(request, 20000, HG_STATUS_IGNORE));
    REQUIRE_HG(HG_SUCCESS, HG_Request_free(request));
  }
}

void clients_that_die() {
  process server({"serve"});
  const std::string name = server.line();
  for (int i = 0; i < 4; ++i) {
    process client({"much", name});
    REQUIRE(client.line() == "called");
    usleep(static_cast<useconds_t>(i) * 3000);
    client.kill(SIGKILL);
    client.wait();
    process good({"call", name});
    REQUIRE(good.wait() == 0);
  }
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

int call(const std::string& name) {
  const hg h(url);
  const na_addr_t server = h.find(name);
  number_t in{41}, out{0};
  REQUIRE_HG(HG_SUCCESS, h.call(server, h.ids.pooled, &in, &out));
  REQUIRE(out.value == 42);
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, server));
  return 0;
}

hg_return_t run_of_another_name(hg_handle_t handle) {
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, nullptr));
  return HG_Handler_free(handle);
}

/// Serves a function whose id is that of the function "bb".
int serve_another_name() {
  const hg h(url, true, true);
  REQUIRE(MERCURY_REGISTER("cA", void, void, run_of_another_name) != 0);
  say(h.own_name());
  serve();
  return 0;
}

void names_with_one_id() {
  process server({"another"});
  const std::string name = server.line();
  {
    const hg h(url);
    const hg_id_t id = MERCURY_REGISTER("bb", void, void, nullptr);
    const na_addr_t address = h.find(name);
    REQUIRE_HG(HG_NO_MATCH, h.call(address, id, nullptr, nullptr));
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(h.na, address));
  }
  REQUIRE(process({"end", name}).wait() == 0);
  REQUIRE(server.wait() == 0);
}

void* answer_late(void* handle) {
  usleep(300000);
  number_t out{42};
  REQUIRE_HG(HG_SUCCESS, HG_Handler_start_output(handle, &out));
  REQUIRE_HG(HG_SUCCESS, HG_Handler_free(handle));
  return nullptr;
}

hg_thread_pool_t* late_pool = nullptr;
hg_return_t run_late(hg_handle_t handle) {
  REQUIRE(hg_thread_pool_post(late_pool, answer_late, handle) == HG_UTIL_SUCCESS);
  return HG_SUCCESS;
}

/// Finalizes while a thread still executes the only call.
int serve_once_and_finalize() {
  REQUIRE(hg_thread_pool_init(1, &late_pool) == HG_UTIL_SUCCESS);
  {
    const hg h(url, true, true);
    MERCURY_REGISTER("late", void, number_t, run_late);
    say(h.own_name());
    for (hg_status_t status = HG_FALSE; status == HG_FALSE;) REQUIRE_HG(HG_SUCCESS, HG_Handler_process(1000, &status));
  }
  REQUIRE(hg_thread_pool_destroy(late_pool) == HG_UTIL_SUCCESS);
  return 0;
}

/// HG_Finalize() waits for calls that are being executed, and a caller may finalize while its call is outstanding.
void finalizing_early() {
  process server({"once"}), keeps({"serve"});
  double begin = 0;
  {
    const hg h(url);
    const hg_id_t late = MERCURY_REGISTER("late", void, number_t, nullptr);
    number_t out{0};
    REQUIRE_HG(HG_SUCCESS, h.call(h.find(server.line()), late, nullptr, &out));
    REQUIRE(out.value == 42);
    REQUIRE(server.wait() == 0);
    hg_request_t never = HG_REQUEST_NULL;
    REQUIRE_HG(HG_SUCCESS, HG_Forward(h.find(keeps.line()), h.ids.keep, nullptr, nullptr, &never));
    REQUIRE(keeps.line() == "kept");
    begin = now();
  }
  REQUIRE(now() - begin < 5);
}

/// A call of a server that has ended fails at once, and wakes a thread that waits for its completion.
void a_failed_call_wakes_a_waiting_thread() {
  process server({"serve"});
  const hg h(url);
  const na_addr_t there = h.find(server.line());
  server.kill(SIGKILL);
  hg_context_t* const context = HG_Context_create();
  REQUIRE(context != nullptr);
  hg_handle_t handle = HG_HANDLE_NULL;
  REQUIRE_HG(HG_SUCCESS, HG_Create(context, there, h.ids.null, &handle));
  std::atomic<int> failed{0};
  const auto count = [](const hg_cb_info* info) {
    if (info->ret == HG_NA_ERROR) static_cast<std::atomic<int>*>(info->arg)->fetch_add(1);
    return HG_SUCCESS;
  };
  const auto call = [&] { REQUIRE_HG(HG_SUCCESS, HG_Forward(handle, count, &failed, nullptr)); };
  const auto trigger = [&] {
    unsigned n = 0;
    return HG_Trigger(context, 0, 1, &n);
  };
  call();  // fails at once, or when the end of the server is noticed
  while (failed == 0) {
    trigger();
    (void)HG_Progress(context, 100);
  }
  for (int i = 0; i < 3; ++i) {
    const int before = failed;
    std::thread waits([&] {
      const double begin = now();
      REQUIRE_HG(HG_SUCCESS, HG_Progress(context, 20000));
      REQUIRE(now() - begin < 10);
      REQUIRE_HG(HG_SUCCESS, trigger());
    });
    usleep(50000);  // until the thread sleeps
    call();
    waits.join();
    REQUIRE(failed == before + 1);
  }
  REQUIRE_HG(HG_SUCCESS, HG_Destroy(handle));
  REQUIRE_HG(HG_SUCCESS, HG_Context_destroy(context));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve_at(url);
  if (role == "open") return open_often(argv[2], std::atoi(argv[3]));
  if (role == "null") return call_null_often(argv[2], std::atoi(argv[3]));
  if (role == "much") return call_with_much_memory(argv[2]);
  if (role == "call") return call(argv[2]);
  if (role == "end") return end_server(argv[2], url);
  if (role == "another") return serve_another_name();
  if (role == "once") return serve_once_and_finalize();
  damaged_messages();
  std::puts("damaged messages: done");
  servers_that_die();
  std::puts("servers that die: done");
  clients_that_die();
  std::puts("clients that die: done");
  names_with_one_id();
  finalizing_early();
  a_failed_call_wakes_a_waiting_thread();
  std::puts("names with one id, early ends: done");
  return 0;
}
