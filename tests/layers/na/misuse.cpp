// Each invalid argument is an error with a line on standard error that names function and argument. No callback runs.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

char error_lines[1 << 16];
int saved_stderr;

void begin_capture() {
  std::fflush(stderr);
  saved_stderr = dup(STDERR_FILENO);
  std::FILE* const f = std::tmpfile();
  dup2(fileno(f), STDERR_FILENO);
  std::fclose(f);
}

/// The text that was printed since begin_capture().
std::string end_capture() {
  lseek(STDERR_FILENO, 0, SEEK_SET);
  const ssize_t n = read(STDERR_FILENO, error_lines, sizeof error_lines - 1);
  dup2(saved_stderr, STDERR_FILENO);
  close(saved_stderr);
  return std::string(error_lines, n < 0 ? 0 : static_cast<size_t>(n));
}

template <class F>
void refused(na_return_t code, const char* function, const char* word, F call) {
  begin_capture();
  const na_return_t got = call();
  const std::string text = end_capture();
  if (got != code || text.rfind(std::string("na: ") + function + ": ", 0) != 0 ||
      text.find(word) == std::string::npos || text.find('\n') != text.size() - 1) {
    std::fprintf(stderr, "%s: %s instead of %s, \"%s\", without \"%s\"\n", function, NA_Error_to_string(got),
                 NA_Error_to_string(code), text.c_str(), word);
    std::exit(3);
  }
}

void initialize(const char* url, const char* word) {
  refused(NA_INVALID_PARAM, "NA_Initialize", word, [&] {
    REQUIRE(NA_Initialize(url, NA_TRUE) == nullptr);
    return NA_INVALID_PARAM;
  });
}

/// Two contexts. A callback of the first calls NA_Trigger() of the second. A callback of the second, which that call
/// runs, tries to destroy both contexts.
struct destroyers {
  network net{"self"};
  na_context_t* const second = NA_Context_create(net.c);
  na_addr_t self = net.find(net.own_name());
  int calls = 0;

  void post(na_context_t* context, na_cb_t callback) {
    static char byte = 'x';
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, context, callback, this, &byte, 1, self, 1, nullptr));
  }
  static na_return_t of_first(const na_cb_info* info) {
    auto& d = *static_cast<destroyers*>(info->arg);
    d.post(d.second, of_second);
    while (d.calls == 0) {
      (void)NA_Progress(d.net.c, d.second, 10);
      (void)NA_Trigger(d.second, 0, 1, nullptr);
    }
    return NA_SUCCESS;
  }
  static na_return_t of_second(const na_cb_info* info) {
    auto& d = *static_cast<destroyers*>(info->arg);
    for (na_context_t* const x : {d.second, d.net.x})
      refused(NA_PROTOCOL_ERROR, "NA_Context_destroy", "callback", [&] { return NA_Context_destroy(d.net.c, x); });
    ++d.calls;
    return NA_SUCCESS;
  }
};

/// NA_Context_destroy() in a callback of the context fails at once, instead of waiting for the callback to end.
void callbacks_destroy_contexts() {
  destroyers d;
  const double begin = test::now();
  d.post(d.net.x, destroyers::of_first);
  d.net.until([&] { return d.calls == 1; });
  REQUIRE(test::now() - begin < 5);
  REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(d.net.c, d.second));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(d.net.c, d.self));
}

/// NA_Context_destroy() fails soon while another thread runs a callback that does not return.
void destroys_while_another_thread_runs_a_callback() {
  network net("self");
  const na_addr_t self = net.find(net.own_name());
  struct {
    std::atomic<bool> has_begun{false}, may_return{false};
  } callback;
  char byte = 'x';
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(
                               net.c, net.x,
                               [](const na_cb_info* info) {
                                 auto& c = *static_cast<decltype(callback)*>(info->arg);
                                 c.has_begun = true;
                                 while (!c.may_return) usleep(100);
                                 return NA_SUCCESS;
                               },
                               &callback, &byte, 1, self, 1, nullptr));
  std::thread other([&] {
    while (!callback.has_begun)
      if (NA_Trigger(net.x, 0, 1, nullptr) != NA_SUCCESS) (void)NA_Progress(net.c, net.x, 10);
  });
  while (!callback.has_begun) usleep(100);
  const double begin = test::now();
  refused(NA_PROTOCOL_ERROR, "NA_Context_destroy", "another thread", [&] { return NA_Context_destroy(net.c, net.x); });
  REQUIRE(test::now() - begin < 5);
  callback.may_return = true;
  other.join();
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, self));
}

}  // namespace

int main() {
  initialize(nullptr, "NULL");
  initialize("", "protocol");
  initialize("carrier pigeon", "protocol");
  initialize("tcp://localhost:70000", "65535");
  initialize("tcp://localhost:12x", "number");
  initialize("nosuch+tcp://localhost", "plugin");
  initialize("bmi+nosuch://localhost", "protocol");
  initialize("+tcp://localhost", "plugin");
  initialize("tcp:localhost:1", "://");
  initialize("tcp://[::1:5", "]");
  initialize("tcp://192.0.2.1:5000", "peer_key_file");  // who may connect from other hosts is not configured
  initialize("tcp://no.such.host.invalid:5000", "has no address");
  {
    const network first("tcp", true);
    initialize(first.own_name().c_str(), "can't be listened");  // the port is taken
  }
  for (const char* url : {"tcp", "bmi+tcp", "bmi+tcp://127.0.0.1:22222", "mpi", "mpi+dynamic", "mpi+static://", "ssm",
                          "ssm+tcp", "na+sm", "na+sm://1234:0", "bmi+ib", "self", "tcp://127.0.0.1:22222\n"}) {
    const network any(url);
  }

  network net("tcp", true);
  const network other("self");
  na_addr_t self = NA_ADDR_NULL, foreign = NA_ADDR_NULL, none = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(net.c, &self));
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(other.c, &foreign));
  outcome never;
  char buffer[5000];
  constexpr na_return_t invalid = NA_INVALID_PARAM;
  const auto send = [&](na_class_t* c, na_context_t* x, const void* buf, na_size_t n, na_addr_t to) {
    return NA_Msg_send_unexpected(c, x, outcome::store, &never, buf, n, to, 0, nullptr);
  };
  refused(invalid, "NA_Msg_send_unexpected", "na_class", [&] { return send(nullptr, net.x, buffer, 1, self); });
  refused(invalid, "NA_Msg_send_unexpected", "context", [&] { return send(net.c, nullptr, buffer, 1, self); });
  refused(invalid, "NA_Msg_send_unexpected", "context", [&] { return send(net.c, other.x, buffer, 1, self); });
  refused(invalid, "NA_Msg_send_unexpected", "NA_ADDR_NULL", [&] { return send(net.c, net.x, buffer, 1, none); });
  refused(invalid, "NA_Msg_send_unexpected", "address", [&] { return send(net.c, net.x, buffer, 1, foreign); });
  refused(invalid, "NA_Msg_send_unexpected", "address", [&] { return send(net.c, net.x, buffer, 1, buffer); });
  refused(invalid, "NA_Msg_send_unexpected", "buf", [&] { return send(net.c, net.x, nullptr, 1, self); });
  refused(NA_SIZE_ERROR, "NA_Msg_send_unexpected", "4096", [&] { return send(net.c, net.x, buffer, 4097, self); });
  refused(NA_SIZE_ERROR, "NA_Msg_send_expected", "4096",
          [&] { return NA_Msg_send_expected(net.c, net.x, outcome::store, &never, buffer, 4097, self, 0, nullptr); });
  refused(invalid, "NA_Msg_recv_expected", "address",
          [&] { return NA_Msg_recv_expected(net.c, net.x, outcome::store, &never, buffer, 1, foreign, 0, nullptr); });
  refused(invalid, "NA_Msg_recv_unexpected", "buf",
          [&] { return NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &never, nullptr, 1, nullptr); });
  refused(invalid, "NA_Addr_lookup", "name",
          [&] { return NA_Addr_lookup(net.c, net.x, outcome::store, &never, nullptr, nullptr); });
  refused(invalid, "NA_Addr_lookup", "protocol",
          [&] { return NA_Addr_lookup(net.c, net.x, outcome::store, &never, "nonsense", nullptr); });
  refused(invalid, "NA_Addr_lookup_wait", "port", [&] { return NA_Addr_lookup_wait(net.c, "tcp://localhost", &none); });
  refused(invalid, "NA_Addr_lookup_wait", "self",
          [&] { return NA_Addr_lookup_wait(other.c, "tcp://localhost:1", &none); });
  const std::string unknown = "tcp://" + std::string(64, 'x') + ":1";  // no host can have so long a name
  refused(NA_PROTOCOL_ERROR, "NA_Addr_lookup_wait", "no address",
          [&] { return NA_Addr_lookup_wait(net.c, unknown.c_str(), &none); });
  refused(invalid, "NA_Addr_lookup_wait", "addr", [&] { return NA_Addr_lookup_wait(net.c, "self", nullptr); });
  refused(invalid, "NA_Addr_self", "addr", [&] { return NA_Addr_self(net.c, nullptr); });
  refused(invalid, "NA_Addr_dup", "new_addr", [&] { return NA_Addr_dup(net.c, self, nullptr); });
  refused(invalid, "NA_Addr_free", "NA_ADDR_NULL", [&] { return NA_Addr_free(net.c, none); });
  refused(invalid, "NA_Addr_to_string", "buf", [&] { return NA_Addr_to_string(net.c, nullptr, 100, self); });
  refused(invalid, "NA_Addr_is_self", "address", [&] {
    REQUIRE(NA_Addr_is_self(net.c, foreign) == NA_FALSE);
    return NA_INVALID_PARAM;
  });
  refused(invalid, "NA_Progress", "context", [&] { return NA_Progress(net.c, nullptr, 0); });
  unsigned count = 7;
  refused(invalid, "NA_Trigger", "context", [&] { return NA_Trigger(nullptr, 0, 1, &count); });
  REQUIRE(count == 0);
  refused(invalid, "NA_Cancel", "op_id", [&] { return NA_Cancel(net.c, net.x, NA_OP_ID_NULL); });
  refused(invalid, "NA_Cancel", "op_id", [&] { return NA_Cancel(net.c, net.x, buffer); });

  na_mem_handle_t handle = NA_MEM_HANDLE_NULL;
  refused(invalid, "NA_Mem_handle_create", "flags",
          [&] { return NA_Mem_handle_create(net.c, buffer, sizeof buffer, 17, &handle); });
  refused(invalid, "NA_Mem_handle_create", "buf", [&] { return NA_Mem_handle_create(net.c, nullptr, 1, 0, &handle); });
  refused(invalid, "NA_Mem_handle_create", "mem_handle",
          [&] { return NA_Mem_handle_create(net.c, buffer, 1, 0, nullptr); });
  na_segment segments[2] = {{reinterpret_cast<na_ptr_t>(buffer), 5}, {0, 5}};
  refused(invalid, "NA_Mem_handle_create_segments", "segment 1",
          [&] { return NA_Mem_handle_create_segments(net.c, segments, 2, 0, &handle); });
  segments[1] = {~na_ptr_t{0} - 2, 5};
  refused(invalid, "NA_Mem_handle_create_segments", "address space",
          [&] { return NA_Mem_handle_create_segments(net.c, segments, 2, 0, &handle); });
  refused(invalid, "NA_Mem_handle_create_segments", "segment_count",
          [&] { return NA_Mem_handle_create_segments(net.c, segments, 0, 0, &handle); });
  refused(invalid, "NA_Mem_register", "NULL", [&] { return NA_Mem_register(net.c, NA_MEM_HANDLE_NULL); });
  refused(invalid, "NA_Mem_deregister", "handle", [&] { return NA_Mem_deregister(net.c, buffer); });
  refused(invalid, "NA_Mem_handle_free", "NULL", [&] { return NA_Mem_handle_free(net.c, NA_MEM_HANDLE_NULL); });
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_create(net.c, buffer, sizeof buffer, NA_MEM_READWRITE, &handle));
  refused(NA_PERMISSION_ERROR, "NA_Mem_handle_serialize", "NA_Mem_register",
          [&] { return NA_Mem_handle_serialize(net.c, buffer, sizeof buffer, handle); });
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_deregister(net.c, handle));
  REQUIRE_CODE(NA_SUCCESS, NA_Mem_handle_free(net.c, handle));

  // An operation that has completed is cancelled without an error, and its callback does not run again.
  outcome sent, received;
  na_op_id_t id = NA_OP_ID_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &received, buffer, 2, &id));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, "long", 4, self, 3, nullptr));
  net.until([&] { return sent.done() && received.done(); });
  REQUIRE(received.info.ret == NA_SIZE_ERROR && received.info.info.recv_unexpected.tag == 3);
  REQUIRE(std::memcmp(buffer, "lo", 2) == 0);
  REQUIRE_CODE(NA_SUCCESS, NA_Cancel(net.c, net.x, id));
  REQUIRE_CODE(NA_TIMEOUT, NA_Trigger(net.x, 10, 5, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Trigger(net.x, 0, 0, &count));
  REQUIRE(count == 0 && received.calls == 1 && sent.calls == 1 && never.calls == 0);

  refused(NA_PROTOCOL_ERROR, "NA_Finalize", "NA_Context_destroy", [&] { return NA_Finalize(net.c); });
  refused(invalid, "NA_Context_destroy", "context", [&] { return NA_Context_destroy(net.c, other.x); });
  refused(invalid, "NA_Finalize", "na_class", [&] { return NA_Finalize(nullptr); });
  na_class_t* const finalized = NA_Initialize("self", NA_FALSE);
  REQUIRE_CODE(NA_SUCCESS, NA_Finalize(finalized));
  // What reuses the memory of the class, as the class was.
  char* const reused = static_cast<char*>(std::malloc(1 << 16));
  std::memset(reused, 'x', 1 << 16);
  refused(invalid, "NA_Finalize", "was finalized", [&] { return NA_Finalize(finalized); });
  refused(invalid, "NA_Context_create", "was finalized",
          [&] { return NA_Context_create(finalized) == nullptr ? NA_INVALID_PARAM : NA_SUCCESS; });
  std::free(reused);
  // Destroying the context ends an unmatched receive.
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &never, buffer, 2, nullptr));
  REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(net.c, net.x));
  net.x = NA_Context_create(net.c);
  REQUIRE_CODE(NA_SUCCESS, send(net.c, net.x, "a", 1, self) == NA_SUCCESS ? NA_SUCCESS : NA_PROTOCOL_ERROR);
  REQUIRE(buffer[0] == 'l');
  REQUIRE(std::strcmp(NA_Error_to_string(NA_PERMISSION_ERROR), "NA_PERMISSION_ERROR") == 0);
  REQUIRE(std::strcmp(NA_Error_to_string(static_cast<na_return_t>(77)), "NA_UNKNOWN_ERROR") == 0);
  net.until([&] { return never.calls == 1; });
  REQUIRE(never.info.type == NA_CB_SEND_UNEXPECTED);

  callbacks_destroy_contexts();
  destroys_while_another_thread_runs_a_callback();

  // Arguments that peers send may be wrong without end: the lines about them are limited.
  begin_capture();
  for (int i = 0; i < 5000; ++i) NA_Addr_free(net.c, NA_ADDR_NULL);
  const std::string flood = end_capture();
  REQUIRE(std::count(flood.begin(), flood.end(), '\n') < 1100);
  return 0;
}
