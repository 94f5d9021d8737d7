/* A server and its client in C, as in programs for Mercury v0.8.2. The server writes its address to a file, from which
 * the client reads it. The server puts data into the client's memory, and answers. */
#include <na.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

enum { request_tag = 100, answer_tag = 101, n_numbers = 1000 };

static na_class_t* net;
static na_context_t* context;
static na_addr_t peer = NA_ADDR_NULL;

static na_return_t looked_up(const struct na_cb_info* info) {
  CHECK(info->ret == NA_SUCCESS && info->type == NA_CB_LOOKUP);
  peer = info->info.lookup.addr;
  ++*(int*)info->arg;
  return NA_SUCCESS;
}

static na_return_t received(const struct na_cb_info* info) {
  CHECK(info->ret == NA_SUCCESS && info->info.recv_unexpected.tag == request_tag);
  peer = info->info.recv_unexpected.source;
  ++*(int*)info->arg;
  return NA_SUCCESS;
}

static na_return_t ended(const struct na_cb_info* info) {
  CHECK(info->ret == NA_SUCCESS);
  ++*(int*)info->arg;
  return info->ret;
}

static void until(const int* done, int n) {
  while (*done < n) {
    unsigned int count = 0;
    na_return_t ret;
    do {
      ret = NA_Trigger(context, 0, 1, &count);
    } while (ret == NA_SUCCESS && count > 0);
    if (*done < n) (void)NA_Progress(net, context, NA_MAX_IDLE_TIME);
  }
}

static void serve(const char* path) {
  char name[NA_MAX_ADDR_LEN], temporary[512];
  na_addr_t self;
  FILE* file;
  int done = 0, i, numbers[n_numbers];
  char* message;
  const na_size_t size = NA_Msg_get_max_unexpected_size(net);
  na_mem_handle_t mine, theirs;
  na_op_id_t id;

  CHECK(NA_Addr_self(net, &self) == NA_SUCCESS);
  CHECK(NA_Addr_to_string(net, name, sizeof name, self) == NA_SUCCESS);
  CHECK(NA_Addr_free(net, self) == NA_SUCCESS);
  snprintf(temporary, sizeof temporary, "%s.new", path);
  CHECK((file = fopen(temporary, "w")) != NULL);
  fprintf(file, "%s\n", name);
  fclose(file);
  CHECK(rename(temporary, path) == 0);

  CHECK((message = malloc(size)) != NULL);
  CHECK(NA_Msg_recv_unexpected(net, context, received, &done, message, size, &id) == NA_SUCCESS);
  until(&done, 1);
  CHECK(NA_Mem_handle_deserialize(net, &theirs, message, size) == NA_SUCCESS);
  for (i = 0; i < n_numbers; ++i) numbers[i] = i * i;
  CHECK(NA_Mem_handle_create(net, numbers, sizeof numbers, NA_MEM_READ_ONLY, &mine) == NA_SUCCESS);
  CHECK(NA_Mem_register(net, mine) == NA_SUCCESS);
  CHECK(NA_Put(net, context, ended, &done, mine, 0, theirs, 0, sizeof numbers, peer, NA_OP_ID_IGNORE) == NA_SUCCESS);
  until(&done, 2);
  CHECK(NA_Msg_send_expected(net, context, ended, &done, "done", 5, peer, answer_tag, NA_OP_ID_IGNORE) == NA_SUCCESS);
  until(&done, 3);
  CHECK(NA_Mem_deregister(net, mine) == NA_SUCCESS);
  CHECK(NA_Mem_handle_free(net, mine) == NA_SUCCESS);
  CHECK(NA_Mem_handle_free(net, theirs) == NA_SUCCESS);
  free(message);
}

static void call(const char* path) {
  char name[NA_MAX_ADDR_LEN], message[256], answer[8];
  FILE* file;
  int done = 0, i, numbers[n_numbers] = {0};
  na_mem_handle_t mine;

  while ((file = fopen(path, "r")) == NULL) usleep(1000);
  CHECK(fgets(name, sizeof name, file) != NULL);
  fclose(file);
  CHECK(NA_Addr_lookup(net, context, looked_up, &done, name, NA_OP_ID_IGNORE) == NA_SUCCESS);
  until(&done, 1);
  CHECK(NA_Mem_handle_create(net, numbers, sizeof numbers, NA_MEM_READWRITE, &mine) == NA_SUCCESS);
  CHECK(NA_Mem_register(net, mine) == NA_SUCCESS);
  CHECK(NA_Mem_handle_get_serialize_size(net, mine) <= sizeof message);
  CHECK(NA_Mem_handle_serialize(net, message, sizeof message, mine) == NA_SUCCESS);
  CHECK(NA_Msg_recv_expected(net, context, ended, &done, answer, sizeof answer, peer, answer_tag, NA_OP_ID_IGNORE) ==
        NA_SUCCESS);
  CHECK(NA_Msg_send_unexpected(net, context, ended, &done, message, sizeof message, peer, request_tag,
                               NA_OP_ID_IGNORE) == NA_SUCCESS);
  until(&done, 3);
  CHECK(strcmp(answer, "done") == 0);
  for (i = 0; i < n_numbers; ++i) CHECK(numbers[i] == i * i);
  CHECK(NA_Mem_deregister(net, mine) == NA_SUCCESS);
  CHECK(NA_Mem_handle_free(net, mine) == NA_SUCCESS);
}

int main(int argc, char** argv) {
  char path[64], *words[4];
  const int server = argc == 1;
  pid_t client = 0;

  if (server) {
    snprintf(path, sizeof path, "/tmp/na_figure.%ld", (long)getpid());
    words[0] = argv[0], words[1] = path, words[2] = NULL;
    client = fork();
    CHECK(client >= 0);
    if (client == 0) {
      execv("/proc/self/exe", words);
      _exit(127);
    }
  }
  CHECK((net = NA_Initialize(server ? "bmi+tcp://localhost:0" : "bmi+tcp", server ? NA_TRUE : NA_FALSE)) != NULL);
  CHECK((context = NA_Context_create(net)) != NULL);
  if (server)
    serve(path);
  else
    call(argv[1]);
  CHECK(NA_Addr_free(net, peer) == NA_SUCCESS);
  CHECK(NA_Context_destroy(net, context) == NA_SUCCESS);
  CHECK(NA_Finalize(net) == NA_SUCCESS);
  if (server) {
    int status = 0;
    CHECK(waitpid(client, &status, 0) == client && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    remove(path);
  }
  return 0;
}
