/* A typical C program for Mercury v0.8.2: handwritten routines that return int, generated routines, the server's
 * address in a line of text, functions that a thread pool executes, transfers of non-contiguous memory, and the
 * callback model. The parent is the client, the child the server. */
#include <mercury.h>
#include <mercury_atomic.h>
#include <mercury_bulk.h>
#include <mercury_callback.h>
#include <mercury_config.h>
#include <mercury_error.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <mercury_proc.h>
#include <mercury_proc_string.h>
#include <mercury_thread.h>
#include <mercury_thread_mutex.h>
#include <mercury_thread_pool.h>
#include <mercury_time.h>
#include <na.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      HG_LOG_ERROR("%s is not true", "" #condition); \
      exit(1);                                       \
    }                                                \
  } while (0)

typedef struct {
  hg_uint64_t cookie;
} rpc_handle_t;

typedef struct {
  hg_const_string_t path;
  rpc_handle_t handle;
} rpc_open_in_t;

typedef struct {
  hg_int32_t ret;
  hg_int32_t event_id;
} rpc_open_out_t;

static HG_INLINE int hg_proc_rpc_handle_t(hg_proc_t proc, void* data) {
  rpc_handle_t* struct_data = (rpc_handle_t*)data;
  int ret = hg_proc_uint64_t(proc, &struct_data->cookie);
  if (ret != HG_SUCCESS) HG_LOG_ERROR("Proc error");
  return ret;
}

static HG_INLINE int hg_proc_rpc_open_in_t(hg_proc_t proc, void* data) {
  int ret = HG_SUCCESS;
  rpc_open_in_t* struct_data = (rpc_open_in_t*)data;
  ret = hg_proc_hg_const_string_t(proc, &struct_data->path);
  if (ret != HG_SUCCESS) return HG_FAIL;
  ret = hg_proc_rpc_handle_t(proc, &struct_data->handle);
  return ret;
}

static HG_INLINE int hg_proc_rpc_open_out_t(hg_proc_t proc, void* data) {
  int ret = HG_SUCCESS;
  rpc_open_out_t* struct_data = (rpc_open_out_t*)data;
  ret = hg_proc_int32_t(proc, &struct_data->ret);
  if (ret != HG_SUCCESS) return HG_FAIL;
  return hg_proc_hg_int32_t(proc, &struct_data->event_id);
}

MERCURY_GEN_PROC(bulk_write_in_t, ((hg_int32_t)(fildes))((rpc_handle_t)(handle))((hg_bulk_t)(bulk_handle)))
MERCURY_GEN_PROC(bulk_write_out_t, ((hg_uint64_t)(ret)))

static hg_id_t open_id, write_id, finalize_id;
static hg_thread_pool_t* thread_pool;
static hg_thread_mutex_t mutex;
static hg_atomic_int32_t finalizing;

static hg_return_t rpc_open_cb(hg_handle_t handle) {
  rpc_open_in_t in;
  rpc_open_out_t out;
  CHECK(HG_Handler_get_input(handle, &in) == HG_SUCCESS);
  out.event_id = (hg_int32_t)in.handle.cookie;
  out.ret = (hg_int32_t)strlen(in.path);
  CHECK(HG_Handler_start_output(handle, &out) == HG_SUCCESS);
  CHECK(HG_Handler_free_input(handle, &in) == HG_SUCCESS);
  CHECK(HG_Handler_free(handle) == HG_SUCCESS);
  return HG_SUCCESS;
}

static HG_THREAD_RETURN_TYPE bulk_write_thread(void* arg) {
  hg_handle_t handle = (hg_handle_t)arg;
  bulk_write_in_t in;
  bulk_write_out_t out;
  hg_bulk_t local = HG_BULK_NULL;
  hg_bulk_request_t request;
  hg_status_t status;
  void* buf = NULL;
  size_t size, i;

  CHECK(HG_Handler_get_input(handle, &in) == HG_SUCCESS);
  size = HG_Bulk_handle_get_size(in.bulk_handle);
  CHECK(HG_Bulk_handle_create(1, NULL, &size, HG_BULK_READWRITE, &local) == HG_SUCCESS);
  CHECK(HG_Bulk_transfer(HG_BULK_PULL, HG_Handler_get_addr(handle), in.bulk_handle, 0, local, 0, size, &request) ==
        HG_SUCCESS);
  CHECK(HG_Bulk_wait(request, HG_MAX_IDLE_TIME, &status) == HG_SUCCESS && status);
  CHECK(HG_Bulk_handle_access(local, 0, size, HG_BULK_READWRITE, 1, &buf, NULL, NULL) == HG_SUCCESS);
  hg_thread_mutex_lock(&mutex);
  out.ret = 0;
  for (i = 0; i < size / sizeof(int); i++) out.ret += ((int*)buf)[i] == (int)i;
  hg_thread_mutex_unlock(&mutex);
  CHECK(HG_Bulk_handle_free(local) == HG_SUCCESS);
  CHECK(HG_Handler_free_input(handle, &in) == HG_SUCCESS);
  CHECK(HG_Handler_start_output(handle, &out) == HG_SUCCESS);
  CHECK(HG_Handler_free(handle) == HG_SUCCESS);
  return (HG_THREAD_RETURN_TYPE)0;
}

static hg_return_t bulk_write_cb(hg_handle_t handle) {
  return hg_thread_pool_post(thread_pool, bulk_write_thread, handle) == HG_UTIL_SUCCESS ? HG_SUCCESS : HG_FAIL;
}

static hg_return_t finalize_cb(hg_handle_t handle) {
  hg_atomic_incr32(&finalizing);
  CHECK(HG_Handler_start_output(handle, NULL) == HG_SUCCESS);
  return HG_Handler_free(handle);
}

static void register_all(int is_server) {
  open_id = MERCURY_REGISTER("hg_test_rpc_open", rpc_open_in_t, rpc_open_out_t, is_server ? rpc_open_cb : NULL);
  write_id =
      MERCURY_REGISTER("hg_test_bulk_write", bulk_write_in_t, bulk_write_out_t, is_server ? bulk_write_cb : NULL);
  finalize_id = MERCURY_REGISTER("hg_test_finalize", void, void, is_server ? finalize_cb : NULL);
  CHECK(open_id != 0 && write_id != 0 && finalize_id != 0);
}

static int server(FILE* to) {
  char name[NA_MAX_ADDR_LEN];
  na_addr_t self = NA_ADDR_NULL;
  na_class_t* na_class = NA_Initialize("bmi+tcp://localhost:0", NA_TRUE);
  CHECK(na_class != NULL && HG_Init(na_class) == HG_SUCCESS);
  CHECK(hg_thread_pool_init(2, &thread_pool) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_mutex_init(&mutex) == HG_UTIL_SUCCESS);
  register_all(1);
  CHECK(NA_Addr_self(na_class, &self) == NA_SUCCESS);
  CHECK(NA_Addr_to_string(na_class, name, sizeof(name), self) == NA_SUCCESS);
  CHECK(NA_Addr_free(na_class, self) == NA_SUCCESS);
  fprintf(to, "%s\n", name);
  fclose(to);
  while (!hg_atomic_get32(&finalizing)) {
    hg_status_t status;
    CHECK(HG_Handler_process(100, &status) == HG_SUCCESS);
  }
  CHECK(hg_thread_pool_destroy(thread_pool) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_mutex_destroy(&mutex) == HG_UTIL_SUCCESS);
  CHECK(HG_Finalize() == HG_SUCCESS && NA_Finalize(na_class) == NA_SUCCESS);
  return 0;
}

static void call_open(na_addr_t addr) {
  rpc_open_in_t in;
  rpc_open_out_t out;
  hg_request_t request;
  hg_status_t status;
  in.path = "/scratch/hpc/a-file";
  in.handle.cookie = 12345;
  CHECK(HG_Forward(addr, open_id, &in, &out, &request) == HG_SUCCESS);
  CHECK(HG_Wait(request, HG_MAX_IDLE_TIME, &status) == HG_SUCCESS && status);
  CHECK(out.ret == (hg_int32_t)strlen(in.path) && out.event_id == 12345);
  CHECK(HG_Request_free(request) == HG_SUCCESS);
}

static void call_write(na_addr_t addr) {
  static int values[10000];
  void* buf_ptrs[3];
  size_t buf_sizes[3];
  bulk_write_in_t in;
  bulk_write_out_t out;
  hg_request_t request;
  hg_status_t status;
  int i;
  for (i = 0; i < 10000; i++) values[i] = i;
  buf_ptrs[0] = values;
  buf_ptrs[1] = values + 1;
  buf_ptrs[2] = values + 5000;
  buf_sizes[0] = sizeof(int);
  buf_sizes[1] = 4999 * sizeof(int);
  buf_sizes[2] = 5000 * sizeof(int);
  in.fildes = 1;
  in.handle.cookie = 1;
  CHECK(HG_Bulk_handle_create(3, buf_ptrs, buf_sizes, HG_BULK_READ_ONLY, &in.bulk_handle) == HG_SUCCESS);
  CHECK(HG_Forward(addr, write_id, &in, &out, &request) == HG_SUCCESS);
  CHECK(HG_Wait(request, HG_MAX_IDLE_TIME, &status) == HG_SUCCESS && status && out.ret == 10000);
  CHECK(HG_Request_free(request) == HG_SUCCESS && HG_Bulk_handle_free(in.bulk_handle) == HG_SUCCESS);
}

static hg_return_t forwarded(const struct hg_cb_info* info) {
  rpc_open_out_t out;
  CHECK(info->ret == HG_SUCCESS && HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS);
  *(int*)info->arg = out.ret;
  return HG_Free_output(info->info.forward.handle, &out);
}

static void call_with_callback(na_addr_t addr) {
  hg_context_t* context = HG_Context_create();
  hg_handle_t handle;
  rpc_open_in_t in;
  int result = 0;
  unsigned int n;
  in.path = "path";
  in.handle.cookie = 1;
  CHECK(context != NULL && HG_Create(context, addr, open_id, &handle) == HG_SUCCESS);
  CHECK(HG_Forward(handle, forwarded, &result, &in) == HG_SUCCESS);
  while (HG_Trigger(context, 0, 1, &n) == HG_TIMEOUT) HG_Progress(context, 1000);
  CHECK(result == 4 && HG_Destroy(handle) == HG_SUCCESS && HG_Context_destroy(context) == HG_SUCCESS);
}

static void client(FILE* from) {
  char name[NA_MAX_ADDR_LEN];
  na_addr_t addr = NA_ADDR_NULL;
  hg_request_t request;
  na_class_t* na_class = NA_Initialize("bmi+tcp://localhost:0", NA_FALSE);
  CHECK(na_class != NULL && HG_Init(na_class) == HG_SUCCESS);
  CHECK(fgets(name, sizeof(name), from) != NULL); /* with the end of the line */
  CHECK(NA_Addr_lookup_wait(na_class, name, &addr) == NA_SUCCESS);
  register_all(0);
  call_open(addr);
  call_write(addr);
  call_with_callback(addr);
  CHECK(HG_Forward(addr, finalize_id, NULL, NULL, &request) == HG_SUCCESS);
  /* As HG_Wait(); without statuses, no compiler may warn. */
  CHECK(HG_Wait_all(1, &request, HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS);
  CHECK(HG_Request_free(request) == HG_SUCCESS);
  CHECK(NA_Addr_free(na_class, addr) == NA_SUCCESS);
  CHECK(HG_Finalize() == HG_SUCCESS && NA_Finalize(na_class) == NA_SUCCESS);
}

int main(void) {
  int ends[2], status = 0;
  pid_t child;
  CHECK(pipe(ends) == 0);
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[0]);
    return server(fdopen(ends[1], "w"));
  }
  close(ends[1]);
  client(fdopen(ends[0], "r"));
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
