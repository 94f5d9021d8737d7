/* A server that is a client of its clients, threads that share an address, a client that dies during a call, handles
 * that are answered late or never; as a program for Mercury v0.8.2 would do it. main() is the server; its children are
 * the clients. The argument is the URL to initialize NA with. */
#include <mercury.h>
#include <mercury_atomic.h>
#include <mercury_bulk.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <mercury_thread.h>
#include <mercury_thread_pool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* who = "server";
#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "%s: line %d: %s\n", who, __LINE__, #condition); \
      _exit(2);                                                        \
    }                                                                  \
  } while (0)
#define OK(call)                                                                                 \
  do {                                                                                           \
    const hg_return_t code_ = (hg_return_t)(call);                                               \
    if (code_ != HG_SUCCESS) {                                                                   \
      fprintf(stderr, "%s: line %d: %s: %s\n", who, __LINE__, #call, HG_Error_to_string(code_)); \
      _exit(2);                                                                                  \
    }                                                                                            \
  } while (0)

MERCURY_GEN_PROC(number_t, ((hg_int32_t)(value))((hg_int32_t)(delay_ms)))
MERCURY_GEN_PROC(callback_t, ((hg_const_string_t)(url))((hg_int32_t)(calls)))
MERCURY_GEN_PROC(pair_t, ((number_t)(a))((number_t)(b))((hg_string_t)(text)))
MERCURY_GEN_PROC(nested_t, ((pair_t)(first))((pair_t)(second))((hg_bulk_t)(memory))((uint8_t)(byte)))
MERCURY_GEN_PROC(reverse_t, ((hg_bulk_t)(from))((hg_bulk_t)(to)))

enum { CLIENTS = 3, THREADS = 3, CALLS = 50, MOST_KEPT = 4, BYTES = 100000 };
static na_class_t* network;
static hg_thread_pool_t* pool;
static hg_id_t id_twice, id_call_back, id_nested, id_reverse, id_keep, id_drop, id_end;
static hg_atomic_int32_t ends, completed;
static hg_handle_t kept[MOST_KEPT];
static int n_kept;
static na_addr_t server;

static HG_THREAD_RETURN_TYPE answer_twice(void* argument) {
  const hg_handle_t handle = (hg_handle_t)argument;
  number_t n;
  hg_thread_ret_t nothing = 0;
  OK(HG_Handler_get_input(handle, &n));
  usleep((unsigned)n.delay_ms * 1000);
  n.value *= 2;
  /* The client that has called with 1 may have died. */
  if (HG_Handler_start_output(handle, &n) != HG_SUCCESS) CHECK(n.value == 2);
  OK(HG_Handler_free_input(handle, &n));
  OK(HG_Handler_free(handle));
  return nothing;
}
static hg_return_t twice(hg_handle_t handle) {
  CHECK(hg_thread_pool_post(pool, answer_twice, handle) == 0);
  return HG_SUCCESS;
}
/* Calls the client several times before it answers. */
static hg_return_t call_back(hg_handle_t handle) {
  callback_t in;
  number_t sent[10], got[10], sum = {0, 0};
  hg_request_t requests[10];
  hg_status_t status;
  na_addr_t client;
  int i;
  OK(HG_Handler_get_input(handle, &in));
  OK(NA_Addr_lookup_wait(network, in.url, &client));
  for (i = 0; i < in.calls; i++) {
    sent[i].value = i;
    sent[i].delay_ms = in.calls - i;
    OK(HG_Forward(client, id_twice, &sent[i], &got[i], &requests[i]));
  }
  for (i = 0; i < in.calls; i++) {
    OK(HG_Wait(requests[i], HG_MAX_IDLE_TIME, &status));
    CHECK(status);
    sum.value += got[i].value;
    OK(HG_Request_free(requests[i]));
  }
  OK(HG_Handler_start_output(handle, &sum));
  OK(HG_Handler_free_input(handle, &in));
  OK(HG_Handler_free(handle));
  OK(NA_Addr_free(network, client));
  return HG_SUCCESS;
}
static hg_return_t nested(hg_handle_t handle) {
  nested_t in;
  pair_t out;
  OK(HG_Handler_get_input(handle, &in));
  out = in.first;
  out.a.value += in.second.b.value;
  out.b.value = (hg_int32_t)HG_Bulk_handle_get_segment_count(in.memory) + in.byte;
  CHECK(in.second.text == NULL);
  OK(HG_Handler_start_output(handle, &out));
  OK(HG_Handler_free_input(handle, &in));
  OK(HG_Handler_free(handle));
  return HG_SUCCESS;
}
/* Pulls pieces, and pushes them to the other memory from its end. */
static hg_return_t reverse(hg_handle_t handle) {
  reverse_t in;
  number_t out = {0, 0};
  hg_bulk_t local;
  hg_bulk_request_t request;
  hg_status_t status;
  size_t bytes, at;
  const na_addr_t client = HG_Handler_get_addr(handle);
  OK(HG_Handler_get_input(handle, &in));
  bytes = HG_Bulk_handle_get_size(in.from);
  OK(HG_Bulk_handle_create(1, NULL, &bytes, HG_BULK_READWRITE, &local));
  for (at = 0; at < bytes; at += 1000) {
    OK(HG_Bulk_transfer(HG_BULK_PULL, client, in.from, at, local, at, 1000, &request));
    OK(HG_Bulk_wait(request, HG_MAX_IDLE_TIME, &status));
    CHECK(status);
    OK(HG_Bulk_transfer(HG_BULK_PUSH, client, in.to, bytes - at - 1000, local, at, 1000, &request));
    OK(HG_Bulk_wait(request, HG_MAX_IDLE_TIME, HG_STATUS_IGNORE));
  }
  out.value = (hg_int32_t)bytes;
  OK(HG_Handler_start_output(handle, &out));
  OK(HG_Bulk_handle_free(local));
  OK(HG_Handler_free_input(handle, &in));
  OK(HG_Handler_free(handle));
  return HG_SUCCESS;
}
static hg_return_t keep(hg_handle_t handle) {
  CHECK(n_kept < MOST_KEPT);
  kept[n_kept++] = handle;
  return HG_SUCCESS;
}
static hg_return_t drop(hg_handle_t handle) { return HG_Handler_free(handle); }
static hg_return_t end(hg_handle_t handle) {
  hg_atomic_incr32(&ends);
  OK(HG_Handler_start_output(handle, NULL));
  return HG_Handler_free(handle);
}

static void open_network(const char* url, unsigned threads) {
  network = NA_Initialize(url, NA_TRUE);
  CHECK(network != NULL);
  OK(HG_Init(network));
  CHECK(hg_thread_pool_init(threads, &pool) == 0);
  hg_atomic_set32(&ends, 0);
  id_twice = MERCURY_REGISTER("twice", number_t, number_t, twice);
  id_call_back = MERCURY_REGISTER("call back", callback_t, number_t, call_back);
  id_nested = MERCURY_REGISTER("nested", nested_t, pair_t, nested);
  id_reverse = MERCURY_REGISTER("reverse", reverse_t, number_t, reverse);
  id_keep = MERCURY_REGISTER("keep", void, number_t, keep);
  id_drop = MERCURY_REGISTER("drop", void, number_t, drop);
  id_end = MERCURY_REGISTER("end", void, void, end);
}
static void close_network(void) {
  CHECK(hg_thread_pool_destroy(pool) == 0);
  OK(HG_Finalize());
  OK(NA_Finalize(network));
}
static void own_name(char* name) {
  na_addr_t self;
  memset(name, 0, NA_MAX_ADDR_LEN);
  OK(NA_Addr_self(network, &self));
  OK(NA_Addr_to_string(network, name, NA_MAX_ADDR_LEN, self));
  OK(NA_Addr_free(network, self));
}

static HG_THREAD_RETURN_TYPE call_often(void* argument) {
  hg_thread_ret_t nothing = 0;
  int i;
  for (i = 0; i < CALLS; i++) {
    number_t in = {*(const int*)argument + i, i % 7 == 0}, out;
    hg_request_t request;
    hg_status_t status = HG_FALSE;
    OK(HG_Forward(server, id_twice, &in, &out, &request));
    while (!status) OK(HG_Wait(request, 20, &status));
    CHECK(out.value == 2 * in.value);
    OK(HG_Request_free(request));
    hg_atomic_incr32(&completed);
  }
  return nothing;
}
static HG_THREAD_RETURN_TYPE serve_until_end(void* unused) {
  hg_thread_ret_t nothing = 0;
  (void)unused;
  while (hg_atomic_get32(&ends) == 0) OK(HG_Handler_process(20, HG_STATUS_IGNORE));
  return nothing;
}

/* Waits for a call without and one with a result. */
static void complete(hg_request_t request) {
  hg_status_t status;
  OK(HG_Wait(request, HG_MAX_IDLE_TIME, &status));
  CHECK(status);
}

static void call_with_nested_arguments(void) {
  char buffer[10];
  void* pieces[3];
  size_t sizes[3] = {3, 2, 5};
  nested_t in;
  pair_t out;
  hg_request_t request;
  pieces[0] = buffer;
  pieces[1] = buffer + 3;
  pieces[2] = buffer + 5;
  in.first.a.value = 5;
  in.first.a.delay_ms = in.first.b.delay_ms = 0;
  in.first.b.value = 6;
  in.first.text = (char*)"first";
  in.second = in.first;
  in.second.b.value = 100;
  in.second.text = NULL;
  in.byte = 1;
  OK(HG_Bulk_handle_create(3, pieces, sizes, HG_BULK_READWRITE, &in.memory));
  OK(HG_Forward(server, id_nested, &in, &out, &request));
  complete(request);
  CHECK(out.a.value == 105 && out.b.value == 4 && strcmp(out.text, "first") == 0);
  OK(HG_Request_free(request));
  OK(HG_Bulk_handle_free(in.memory));
}

static void reverse_memory(void) {
  static char from[BYTES], to[BYTES];
  void *pieces[400], *whole = to;
  size_t sizes[400], bytes = BYTES, at = 0, i;
  unsigned n = 0;
  reverse_t in;
  number_t out;
  hg_request_t request;
  for (i = 0; i < BYTES; i++) from[i] = (char)(i / 1000);
  while (at < BYTES) {
    sizes[n] = (n * 37) % 900 + 1;
    if (at + sizes[n] > BYTES || n == 399) sizes[n] = BYTES - at;
    pieces[n] = from + at;
    at += sizes[n++];
  }
  OK(HG_Bulk_handle_create(n, pieces, sizes, HG_BULK_READ_ONLY, &in.from));
  OK(HG_Bulk_handle_create(1, &whole, &bytes, HG_BULK_READWRITE, &in.to));
  OK(HG_Forward(server, id_reverse, &in, &out, &request));
  complete(request);
  CHECK(out.value == BYTES);
  for (i = 0; i < BYTES; i++) CHECK(to[i] == (char)((BYTES - 1 - i) / 1000));
  OK(HG_Request_free(request));
  OK(HG_Bulk_handle_free(in.from));
  OK(HG_Bulk_handle_free(in.to));
}

static int client(int number, const char* url, const char* name_of_server) {
  char name[NA_MAX_ADDR_LEN];
  hg_thread_t callers[THREADS], listener;
  int first[THREADS], i;
  number_t one = {1, 300}, out;
  callback_t in;
  hg_request_t request;
  hg_status_t status;
  who = "client";
  open_network(url, 2);
  own_name(name);
  OK(NA_Addr_lookup_wait(network, name_of_server, &server));
  if (number == CLIENTS - 1) {
    OK(HG_Forward(server, id_twice, &one, &out, &request));
    OK(HG_Wait(request, 20, &status));
    kill(getpid(), SIGKILL);
  }
  hg_atomic_set32(&completed, 0);
  for (i = 0; i < THREADS; i++) {
    first[i] = i * 1000 + 10;
    hg_thread_init(&callers[i]);
    CHECK(hg_thread_create(&callers[i], call_often, &first[i]) == 0);
  }
  for (i = 0; i < THREADS; i++) hg_thread_join(callers[i]);
  CHECK(hg_atomic_get32(&completed) == THREADS * CALLS);
  hg_thread_init(&listener);
  CHECK(hg_thread_create(&listener, serve_until_end, NULL) == 0);
  in.url = name;
  in.calls = 8;
  OK(HG_Forward(server, id_call_back, &in, &out, &request));
  complete(request);
  CHECK(out.value == 2 * 28);
  OK(HG_Request_free(request));
  call_with_nested_arguments();
  reverse_memory();
  OK(HG_Forward(server, id_drop, NULL, &out, &request)); /* fails, since the server has freed the handle */
  CHECK(HG_Wait(request, HG_MAX_IDLE_TIME, &status) != HG_SUCCESS);
  OK(HG_Request_free(request));
  OK(HG_Forward(server, id_keep, NULL, &out, &request));
  OK(HG_Wait(request, 100, &status));
  CHECK(!status);
  OK(HG_Request_free(request));
  OK(HG_Forward(server, id_end, NULL, NULL, &request));
  complete(request);
  OK(HG_Request_free(request));
  hg_atomic_incr32(&ends);
  hg_thread_join(listener);
  OK(NA_Addr_free(network, server));
  close_network();
  return 0;
}

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "tcp://127.0.0.1:0";
  char name[NA_MAX_ADDR_LEN];
  int channel[2], i, status;
  pid_t clients[CLIENTS];
  CHECK(pipe(channel) == 0);
  for (i = 0; i < CLIENTS; i++)
    if ((clients[i] = fork()) == 0) {
      close(channel[1]);
      return read(channel[0], name, sizeof name) == sizeof name ? client(i, url, name) : 1;
    }
  close(channel[0]);
  open_network(url, 4);
  own_name(name);
  for (i = 0; i < CLIENTS; i++) CHECK(write(channel[1], name, sizeof name) == sizeof name);
  while (hg_atomic_get32(&ends) < CLIENTS - 1) OK(HG_Handler_process(100, HG_STATUS_IGNORE));
  for (i = 0; i < CLIENTS; i++) {
    waitpid(clients[i], &status, 0);
    CHECK(i == CLIENTS - 1 ? WIFSIGNALED(status) : status == 0);
  }
  while (n_kept > 0) OK(HG_Handler_free(kept[--n_kept]));
  close_network();
  printf("cases: 1 passed, 0 failed, 0 skipped\n");
  return 0;
}
