/* A queue of pointers with two ends. Not thread-safe. Functions that return int return HG_UTIL_SUCCESS, or
 * HG_UTIL_FAIL for NULL instead of a queue and if there is no memory. */
#ifndef MERCURY_QUEUE_H
#define MERCURY_QUEUE_H

#include <mercury_util_config.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* hg_queue_value_t;
#define HG_QUEUE_NULL ((void*)0)

/* The values are values[first], values[first + 1], ... count of them, modulo room, which is a power of two. */
typedef struct hg_queue {
  hg_queue_value_t* values;
  size_t first;
  size_t count;
  size_t room;
} hg_queue_t;

/* NULL if there is no memory. */
static HG_UTIL_INLINE hg_queue_t* hg_queue_new(void) { return (hg_queue_t*)calloc(1, sizeof(hg_queue_t)); }

/* Does not free what the values point to. */
static HG_UTIL_INLINE void hg_queue_free(hg_queue_t* queue) {
  if (queue == NULL) return;
  free(queue->values);
  free(queue);
}

static HG_UTIL_INLINE hg_util_bool_t hg_queue_is_empty(hg_queue_t* queue) {
  return queue == NULL || queue->count == 0 ? HG_UTIL_TRUE : HG_UTIL_FALSE;
}

static HG_UTIL_INLINE int hg_queue_grow(hg_queue_t* queue) {
  size_t room, i;
  hg_queue_value_t* values;
  if (queue == NULL) return HG_UTIL_FAIL;
  if (queue->count < queue->room) return HG_UTIL_SUCCESS;
  room = queue->room == 0 ? 16 : 2 * queue->room;
  values = (hg_queue_value_t*)malloc(room * sizeof(*values));
  if (values == NULL) return HG_UTIL_FAIL;
  for (i = 0; i < queue->count; ++i) values[i] = queue->values[(queue->first + i) & (queue->room - 1)];
  free(queue->values);
  queue->values = values;
  queue->first = 0;
  queue->room = room;
  return HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE int hg_queue_push_head(hg_queue_t* queue, hg_queue_value_t data) {
  if (hg_queue_grow(queue) != HG_UTIL_SUCCESS) return HG_UTIL_FAIL;
  queue->first = (queue->first - 1) & (queue->room - 1);
  queue->values[queue->first] = data;
  ++queue->count;
  return HG_UTIL_SUCCESS;
}

static HG_UTIL_INLINE int hg_queue_push_tail(hg_queue_t* queue, hg_queue_value_t data) {
  if (hg_queue_grow(queue) != HG_UTIL_SUCCESS) return HG_UTIL_FAIL;
  queue->values[(queue->first + queue->count++) & (queue->room - 1)] = data;
  return HG_UTIL_SUCCESS;
}

/* These return HG_QUEUE_NULL if the queue is empty. */
static HG_UTIL_INLINE hg_queue_value_t hg_queue_peek_head(hg_queue_t* queue) {
  return hg_queue_is_empty(queue) ? HG_QUEUE_NULL : queue->values[queue->first];
}

static HG_UTIL_INLINE hg_queue_value_t hg_queue_peek_tail(hg_queue_t* queue) {
  return hg_queue_is_empty(queue) ? HG_QUEUE_NULL
                                  : queue->values[(queue->first + queue->count - 1) & (queue->room - 1)];
}

static HG_UTIL_INLINE hg_queue_value_t hg_queue_pop_head(hg_queue_t* queue) {
  const hg_queue_value_t value = hg_queue_peek_head(queue);
  if (hg_queue_is_empty(queue)) return value;
  queue->first = (queue->first + 1) & (queue->room - 1);
  --queue->count;
  return value;
}

static HG_UTIL_INLINE hg_queue_value_t hg_queue_pop_tail(hg_queue_t* queue) {
  const hg_queue_value_t value = hg_queue_peek_tail(queue);
  if (!hg_queue_is_empty(queue)) --queue->count;
  return value;
}

#ifdef __cplusplus
}
#endif

#endif
