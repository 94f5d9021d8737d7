/* Hash tables of pointers. Not thread-safe. Link with libmercury_util. */
#ifndef MERCURY_HASH_TABLE_H
#define MERCURY_HASH_TABLE_H

#include <mercury_util_config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_hash_table hg_hash_table_t;
typedef struct hg_hash_table_entry hg_hash_table_entry_t;
typedef void* hg_hash_table_key_t;
typedef void* hg_hash_table_value_t;
#define HG_HASH_TABLE_NULL ((void*)0)

/* A position in a table, from hg_hash_table_iterate(). Valid until the table changes. */
typedef struct hg_hash_table_iter {
  hg_hash_table_t* hash_table;
  hg_hash_table_entry_t* next_entry;
  unsigned int next_chain;
} hg_hash_table_iter_t;

typedef unsigned int (*hg_hash_table_hash_func_t)(hg_hash_table_key_t key);
/* Whether two keys are equal: not 0. */
typedef int (*hg_hash_table_equal_func_t)(hg_hash_table_key_t key1, hg_hash_table_key_t key2);
typedef void (*hg_hash_table_key_free_func_t)(hg_hash_table_key_t key);
typedef void (*hg_hash_table_value_free_func_t)(hg_hash_table_value_t value);

/* NULL if a function is NULL or there is no memory. */
HG_UTIL_EXPORT hg_hash_table_t* hg_hash_table_new(hg_hash_table_hash_func_t hash_func,
                                                  hg_hash_table_equal_func_t equal_func);
HG_UTIL_EXPORT void hg_hash_table_free(hg_hash_table_t* hash_table);
/* Functions, or NULL, that are called for keys and values that are removed or replaced. */
HG_UTIL_EXPORT void hg_hash_table_register_free_functions(hg_hash_table_t* hash_table,
                                                          hg_hash_table_key_free_func_t key_free_func,
                                                          hg_hash_table_value_free_func_t value_free_func);
/* Adds a value, or replaces that of an equal key. Returns 0 if there is no memory, else not 0. */
HG_UTIL_EXPORT int hg_hash_table_insert(hg_hash_table_t* hash_table, hg_hash_table_key_t key,
                                        hg_hash_table_value_t value);
/* HG_HASH_TABLE_NULL if there is no such key. */
HG_UTIL_EXPORT hg_hash_table_value_t hg_hash_table_lookup(hg_hash_table_t* hash_table, hg_hash_table_key_t key);
/* Returns 0 if there is no such key, else not 0. */
HG_UTIL_EXPORT int hg_hash_table_remove(hg_hash_table_t* hash_table, hg_hash_table_key_t key);
HG_UTIL_EXPORT unsigned int hg_hash_table_num_entries(hg_hash_table_t* hash_table);

/* Visits all values, in any order. */
HG_UTIL_EXPORT void hg_hash_table_iterate(hg_hash_table_t* hash_table, hg_hash_table_iter_t* iter);
HG_UTIL_EXPORT int hg_hash_table_iter_has_more(hg_hash_table_iter_t* iter);
HG_UTIL_EXPORT hg_hash_table_value_t hg_hash_table_iter_next(hg_hash_table_iter_t* iter);

#ifdef __cplusplus
}
#endif

#endif
