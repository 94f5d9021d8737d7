/* Doubly linked lists of pointers. A list is the pointer to its first entry, NULL for an empty one. Not thread-safe.
 * Functions that add an entry return it, or NULL for NULL instead of a list and if there is no memory. */
#ifndef MERCURY_LIST_H
#define MERCURY_LIST_H

#include <mercury_util_config.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* hg_list_value_t;
#define HG_LIST_NULL ((void*)0)

typedef struct hg_list_entry {
  hg_list_value_t data;
  struct hg_list_entry* prev;
  struct hg_list_entry* next;
} hg_list_entry_t;

/* Whether two values are equal: not 0. */
typedef int (*hg_list_equal_func_t)(hg_list_value_t value1, hg_list_value_t value2);

static HG_UTIL_INLINE hg_list_entry_t* hg_list_next(hg_list_entry_t* entry) {
  return entry != NULL ? entry->next : NULL;
}
static HG_UTIL_INLINE hg_list_entry_t* hg_list_prev(hg_list_entry_t* entry) {
  return entry != NULL ? entry->prev : NULL;
}
static HG_UTIL_INLINE hg_list_value_t hg_list_data(hg_list_entry_t* entry) {
  return entry != NULL ? entry->data : HG_LIST_NULL;
}

static HG_UTIL_INLINE hg_list_entry_t* hg_list_insert_between(hg_list_entry_t* prev, hg_list_entry_t* next,
                                                              hg_list_value_t data) {
  hg_list_entry_t* made = (hg_list_entry_t*)malloc(sizeof(*made));
  if (made == NULL) return NULL;
  made->data = data;
  made->prev = prev;
  made->next = next;
  if (prev != NULL) prev->next = made;
  if (next != NULL) next->prev = made;
  return made;
}

static HG_UTIL_INLINE hg_list_entry_t* hg_list_prepend(hg_list_entry_t** list, hg_list_value_t data) {
  hg_list_entry_t* made = list != NULL ? hg_list_insert_between(NULL, *list, data) : NULL;
  if (made != NULL) *list = made;
  return made;
}

static HG_UTIL_INLINE hg_list_entry_t* hg_list_append(hg_list_entry_t** list, hg_list_value_t data) {
  hg_list_entry_t* last;
  if (list == NULL || *list == NULL) return hg_list_prepend(list, data);
  for (last = *list; last->next != NULL; last = last->next) {
  }
  return hg_list_insert_between(last, NULL, data);
}

/* Removes an entry of the list and frees it. Returns whether there was one. */
static HG_UTIL_INLINE int hg_list_remove_entry(hg_list_entry_t** list, hg_list_entry_t* entry) {
  if (list == NULL || *list == NULL || entry == NULL) return 0;
  if (*list == entry) *list = entry->next;
  if (entry->prev != NULL) entry->prev->next = entry->next;
  if (entry->next != NULL) entry->next->prev = entry->prev;
  free(entry);
  return 1;
}

/* Removes the entries whose value equals `data`. Returns their number. */
static HG_UTIL_INLINE unsigned int hg_list_remove_data(hg_list_entry_t** list, hg_list_equal_func_t equal,
                                                       hg_list_value_t data) {
  unsigned int n = 0;
  hg_list_entry_t *at, *next;
  for (at = list != NULL ? *list : NULL; at != NULL; at = next) {
    next = at->next;
    if (equal(at->data, data)) n += (unsigned int)hg_list_remove_entry(list, at);
  }
  return n;
}

static HG_UTIL_INLINE hg_list_entry_t* hg_list_find_data(hg_list_entry_t* list, hg_list_equal_func_t equal,
                                                         hg_list_value_t data) {
  while (list != NULL && !equal(list->data, data)) list = list->next;
  return list;
}

static HG_UTIL_INLINE unsigned int hg_list_length(hg_list_entry_t* list) {
  unsigned int n = 0;
  for (; list != NULL; list = list->next) ++n;
  return n;
}

/* Frees the entries, but not what their values point to. */
static HG_UTIL_INLINE void hg_list_free(hg_list_entry_t* list) {
  while (list != NULL) {
    hg_list_entry_t* next = list->next;
    free(list);
    list = next;
  }
}

#ifdef __cplusplus
}
#endif

#endif
