/* The program of Figure 1 of the paper that describes CCS, in C: a message contains a buffer's address and length, and
 * its handler gets the buffer. This program adds the declarations, waits and checks that the figure omits. The figure's
 * handler has a parameter buf_len, which hides the program's variable and is 0 for a message without data; here the
 * parameter is named `length`. The variadic handlers read their arguments with va_arg. Works with any number of
 * processes, in a ring. */
#include <ccs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wpointer-sign" /* the figure's `int sender` */

static CCS_context_t context;
static unsigned char *buf, *mine;
static int buf_len = 100000;
static volatile int gets_completed;
static volatile int lists;

static void get_callback(void* arg) {
  (void)arg;
  ++gets_completed;
}
#define NEW_MSG_HANDLER_ID 0
static void new_msg_handler(CCS_token_t token, void* buffer, unsigned length, void* remote_buf, int remote_buf_len) {
  int sender;
  (void)buffer;
  (void)length;
  CCS_sender_rank(token, &sender);
  CCS_get(sender, remote_buf, remote_buf_len, CCS_DATA8, buf, buf_len, CCS_DATA8, get_callback,
          0 /* callback argument */);
}

static void list_handler(CCS_token_t token, void* buffer, unsigned length, unsigned n, ...) {
  va_list list;
  const char* text;
  int number;
  CCS_node_t sender;
  va_start(list, n);
  text = (const char*)va_arg(list, CCS_handler_arg_t);
  number = (int)va_arg(list, CCS_handler_arg_t);
  va_end(list);
  if (n == 2 && number == -7 && text != NULL && length == 3 && ((char*)buffer)[1] == 'b' &&
      CCS_sender_rank(token, &sender) == CCS_SUCCESS)
    ++lists;
}

#define CHECK(condition)                                                      \
  if (!(condition)) {                                                         \
    fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
    return 1;                                                                 \
  }

int main(void) {
  CCS_node_t me, n, other_node, previous;
  int i;
  char text[] = "abc";
  CCS_init();
  CCS_new_context(&context);
  CHECK(CCS_register_handler(context, NEW_MSG_HANDLER_ID, new_msg_handler) == CCS_SUCCESS);
  CHECK(CCS_register_handler(context, 1, list_handler) == CCS_SUCCESS);
  buf = malloc(buf_len);
  mine = malloc(buf_len);
  CHECK(CCS_get_rank(&me) == CCS_SUCCESS && CCS_get_size(&n) == CCS_SUCCESS);
  other_node = (me + 1) % n;
  previous = (me + n - 1) % n;
  for (i = 0; i < buf_len; ++i) mine[i] = (unsigned char)(i * 3 + (int)me);
  CCS_register_mem(mine, buf_len);
  CCS_barrier();
  CHECK(CCS_amrequest(context, other_node, NULL, 0, CCS_DATA_NULL, NEW_MSG_HANDLER_ID, 2, mine, buf_len) ==
        CCS_SUCCESS);
  CHECK(CCS_amrequest(context, other_node, text, 3, CCS_DATA8, 1, 2, text, -7) == CCS_SUCCESS);
  while (gets_completed < 1 || lists < 1) CCS_poll();
  for (i = 0; i < buf_len; ++i) CHECK(buf[i] == (unsigned char)(i * 3 + (int)previous));
  CCS_barrier();
  CCS_deregister_mem(mine, buf_len);
  CCS_finalize();
  free(buf);
  free(mine);
  CHECK(gets_completed == 1 && lists == 1);
  return 0;
}
