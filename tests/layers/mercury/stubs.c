/* Functions that the macros of mercury_stubs.h generate. The parent is the client, which leaves initialization to its
 * stubs; the child is the server. */
#include <mercury.h>
#include <mercury_error.h>
#include <mercury_handler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_logged = 0;
#define MERCURY_HANDLER_GEN_LOG_MESSAGE(x) n_logged += strlen(x) > 0
#include <mercury_macros.h>
#include <mercury_proc_string.h>
#include <mercury_thread_pool.h>

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      HG_LOG_ERROR("%s is not true", "" #condition); \
      exit(1);                                       \
    }                                                \
  } while (0)

/* The server's functions. */

static char file[200000];

static hg_int32_t divide(hg_int32_t a, hg_int32_t b, hg_int32_t* rest, hg_uint64_t* sum) {
  *rest = a % b;
  *sum = (hg_uint64_t)a + (hg_uint64_t)b;
  return a / b;
}

static hg_int64_t save(hg_const_string_t name, hg_int32_t offset, const void* bulk_buf, size_t bulk_size) {
  if (strcmp(name, "file") != 0) return -2;
  memcpy(file + offset, bulk_buf, bulk_size);
  return (hg_int64_t)bulk_size;
}

static hg_int64_t load(hg_const_string_t name, hg_int32_t offset, void* bulk_buf, size_t bulk_size) {
  if (strcmp(name, "file") != 0) return -2;
  memcpy(bulk_buf, file + offset, bulk_size);
  return (hg_int64_t)bulk_size;
}

static hg_int32_t count_logged(void) { return n_logged; }

static int ended = 0;
static void end(void) { ended = 1; }

/* The types of both sides. */

#define DIVIDE_IN ((hg_int32_t)(a))((hg_int32_t)(b))
#define DIVIDE_OUT ((hg_int32_t)(rest))((hg_uint64_t)(sum))
#define FILE_IN ((hg_const_string_t)(name))((hg_int32_t)(offset))
MERCURY_GEN_PROC(divide_in_t, DIVIDE_IN)
MERCURY_GEN_PROC(divide_out_t, ((hg_int32_t)(ret))DIVIDE_OUT)
MERCURY_GEN_PROC(file_in_t, FILE_IN((hg_bulk_t)(bulk_handle)))
MERCURY_GEN_PROC(file_out_t, ((hg_int64_t)(ret)))
MERCURY_GEN_PROC(count_out_t, ((hg_int32_t)(ret)))

MERCURY_GEN_RPC_STUB(divide_rpc, divide, MERCURY_GEN_TRUE, hg_int32_t, -1, MERCURY_GEN_TRUE, divide_in_t, DIVIDE_IN,
                     MERCURY_GEN_TRUE, divide_out_t, DIVIDE_OUT, MERCURY_GEN_FALSE, )
MERCURY_GEN_RPC_STUB(save_rpc, save, MERCURY_GEN_TRUE, hg_int64_t, -1, MERCURY_GEN_TRUE, file_in_t, FILE_IN,
                     MERCURY_GEN_FALSE, file_out_t, , MERCURY_GEN_TRUE, MERCURY_GEN_TRUE)
MERCURY_GEN_RPC_STUB(load_rpc, load, MERCURY_GEN_TRUE, hg_int64_t, -1, MERCURY_GEN_TRUE, file_in_t, FILE_IN,
                     MERCURY_GEN_FALSE, file_out_t, , MERCURY_GEN_TRUE, MERCURY_GEN_FALSE)
MERCURY_GEN_RPC_STUB(count_rpc, count_logged, MERCURY_GEN_TRUE, hg_int32_t, -1, MERCURY_GEN_FALSE, void, ,
                     MERCURY_GEN_FALSE, count_out_t, , MERCURY_GEN_FALSE, MERCURY_GEN_FALSE)
MERCURY_GEN_RPC_STUB(unknown_rpc, unknown, MERCURY_GEN_TRUE, hg_int32_t, -1, MERCURY_GEN_FALSE, void, ,
                     MERCURY_GEN_FALSE, count_out_t, , MERCURY_GEN_FALSE, MERCURY_GEN_FALSE)
MERCURY_GEN_RPC_STUB(end_rpc, end, MERCURY_GEN_FALSE, void, , MERCURY_GEN_FALSE, void, , MERCURY_GEN_FALSE, void, ,
                     MERCURY_GEN_FALSE, MERCURY_GEN_FALSE)

static hg_thread_pool_t* pool;
MERCURY_HANDLER_GEN_CALLBACK_STUB(divide_cb, divide, MERCURY_GEN_TRUE, hg_int32_t, MERCURY_GEN_TRUE, divide_in_t,
                                  DIVIDE_IN, MERCURY_GEN_TRUE, divide_out_t, DIVIDE_OUT, MERCURY_GEN_FALSE, ,
                                  MERCURY_GEN_FALSE, )
MERCURY_HANDLER_GEN_CALLBACK_STUB(save_cb, save, MERCURY_GEN_TRUE, hg_int64_t, MERCURY_GEN_TRUE, file_in_t, FILE_IN,
                                  MERCURY_GEN_FALSE, file_out_t, , MERCURY_GEN_TRUE, MERCURY_GEN_TRUE, MERCURY_GEN_TRUE,
                                  pool)
MERCURY_HANDLER_GEN_CALLBACK_STUB(load_cb, load, MERCURY_GEN_TRUE, hg_int64_t, MERCURY_GEN_TRUE, file_in_t, FILE_IN,
                                  MERCURY_GEN_FALSE, file_out_t, , MERCURY_GEN_TRUE, MERCURY_GEN_FALSE,
                                  MERCURY_GEN_FALSE, )
MERCURY_HANDLER_GEN_CALLBACK_STUB(count_cb, count_logged, MERCURY_GEN_TRUE, hg_int32_t, MERCURY_GEN_FALSE, void, ,
                                  MERCURY_GEN_FALSE, count_out_t, , MERCURY_GEN_FALSE, MERCURY_GEN_FALSE,
                                  MERCURY_GEN_FALSE, )
MERCURY_HANDLER_GEN_CALLBACK_STUB(end_cb, end, MERCURY_GEN_FALSE, void, MERCURY_GEN_FALSE, void, , MERCURY_GEN_FALSE,
                                  void, , MERCURY_GEN_FALSE, MERCURY_GEN_FALSE, MERCURY_GEN_FALSE, )

static int serve(int to) {
  char name[NA_MAX_ADDR_LEN];
  na_addr_t self;
  na_class_t* na = NA_Initialize("tcp", NA_TRUE);
  CHECK(na != NULL && HG_Init(na) == HG_SUCCESS);
  CHECK(hg_thread_pool_init(1, &pool) == HG_UTIL_SUCCESS);
  CHECK(MERCURY_REGISTER("divide", divide_in_t, divide_out_t, divide_cb) != 0);
  CHECK(MERCURY_REGISTER("save", file_in_t, file_out_t, save_cb) != 0);
  CHECK(MERCURY_REGISTER("load", file_in_t, file_out_t, load_cb) != 0);
  CHECK(MERCURY_REGISTER("count_logged", void, count_out_t, count_cb) != 0);
  CHECK(MERCURY_REGISTER("end", void, void, end_cb) != 0);
  CHECK(NA_Addr_self(na, &self) == NA_SUCCESS && NA_Addr_to_string(na, name, sizeof name, self) == NA_SUCCESS);
  NA_Addr_free(na, self);
  CHECK(write(to, name, strlen(name) + 1) > 0);
  while (!ended) HG_Handler_process(1000, HG_STATUS_IGNORE);
  hg_thread_pool_destroy(pool);
  CHECK(HG_Finalize() == HG_SUCCESS && NA_Finalize(na) == NA_SUCCESS);
  return 0;
}

int main(void) {
  static char sent[150000], got[150000];
  char name[NA_MAX_ADDR_LEN];
  hg_int32_t rest = 0;
  hg_uint64_t sum = 0;
  size_t i;
  int ends[2], status = 1;
  pid_t server;
  CHECK(pipe(ends) == 0);
  server = fork();
  if (server == 0) return serve(ends[1]);

  unsetenv(HG_PORT_NAME);
  CHECK(divide_rpc(1, 1, NULL, NULL) == -1); /* without a server's address */
  CHECK(read(ends[0], name, sizeof name) > 0);
  setenv(HG_PORT_NAME, name, 1);
  CHECK(divide_rpc(47, 5, &rest, &sum) == 9 && rest == 2 && sum == 52);
  CHECK(divide_rpc(-7, 2, NULL, NULL) == -3);
  for (i = 0; i < sizeof sent; i++) sent[i] = (char)(i * 7 + i / 1000);
  CHECK(save_rpc("file", 1000, sent, sizeof sent) == (hg_int64_t)sizeof sent);
  CHECK(load_rpc("file", 1000, got, sizeof got) == (hg_int64_t)sizeof got && memcmp(sent, got, sizeof got) == 0);
  CHECK(load_rpc("another", 0, got, 1) == -2);
  CHECK(load_rpc("file", 0, NULL, 0) == -1); /* no memory */
  CHECK(unknown_rpc() == -1);
  CHECK(count_rpc() == 6); /* the result includes this call */
  end_rpc();
  CHECK(waitpid(server, &status, 0) == server && status == 0);
  CHECK(divide_rpc(1, 1, NULL, NULL) == -1); /* the server has ended */
  return 0;
}
