// mercury_hash_table.h.
#include <mercury_hash_table.h>

#include <new>
#include <vector>

struct hg_hash_table_entry {
  hg_hash_table_key_t key;
  hg_hash_table_value_t value;
  hg_hash_table_entry* next;
};

/// The entries whose hashes are equal modulo the number of chains form a chain, a linked list.
struct hg_hash_table {
  hg_hash_table(hg_hash_table_hash_func_t h, hg_hash_table_equal_func_t e) : hash(h), equal(e), chains(16) {}
  ~hg_hash_table() {
    for (hg_hash_table_entry* e : chains)
      while (e != nullptr) {
        hg_hash_table_entry* const next = e->next;
        drop(e->key, e->value);
        delete e;
        e = next;
      }
  }
  hg_hash_table(const hg_hash_table&) = delete;
  hg_hash_table& operator=(const hg_hash_table&) = delete;

  void drop(hg_hash_table_key_t key, hg_hash_table_value_t value) const {
    if (free_key != nullptr) free_key(key);
    if (free_value != nullptr) free_value(value);
  }
  /// The pointer to the entry of the key; the null pointer at the end of its chain if the table has no such key.
  hg_hash_table_entry** find(hg_hash_table_key_t key) {
    hg_hash_table_entry** at = &chains[hash(key) % chains.size()];
    while (*at != nullptr && equal((*at)->key, key) == 0) at = &(*at)->next;
    return at;
  }
  void grow() {
    std::vector<hg_hash_table_entry*> more(2 * chains.size());
    for (hg_hash_table_entry* e : chains)
      while (e != nullptr) {
        hg_hash_table_entry* const next = e->next;
        hg_hash_table_entry*& first = more[hash(e->key) % more.size()];
        e->next = first;
        first = e;
        e = next;
      }
    chains.swap(more);
  }

  const hg_hash_table_hash_func_t hash;
  const hg_hash_table_equal_func_t equal;
  hg_hash_table_key_free_func_t free_key = nullptr;
  hg_hash_table_value_free_func_t free_value = nullptr;
  std::vector<hg_hash_table_entry*> chains;
  unsigned int entries = 0;
};

hg_hash_table_t* hg_hash_table_new(hg_hash_table_hash_func_t hash_func, hg_hash_table_equal_func_t equal_func) {
  if (hash_func == nullptr || equal_func == nullptr) return nullptr;
  try {
    return new hg_hash_table(hash_func, equal_func);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void hg_hash_table_free(hg_hash_table_t* hash_table) { delete hash_table; }

void hg_hash_table_register_free_functions(hg_hash_table_t* hash_table, hg_hash_table_key_free_func_t key_free_func,
                                           hg_hash_table_value_free_func_t value_free_func) {
  if (hash_table == nullptr) return;
  hash_table->free_key = key_free_func;
  hash_table->free_value = value_free_func;
}

int hg_hash_table_insert(hg_hash_table_t* t, hg_hash_table_key_t key, hg_hash_table_value_t value) {
  if (t == nullptr) return 0;
  try {
    if (t->entries >= t->chains.size()) t->grow();
    hg_hash_table_entry** const at = t->find(key);
    if (hg_hash_table_entry* const e = *at; e != nullptr) {
      t->drop(e->key, e->value);
      e->key = key;
      e->value = value;
    } else {
      *at = new hg_hash_table_entry{key, value, nullptr};
      ++t->entries;
    }
    return 1;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

hg_hash_table_value_t hg_hash_table_lookup(hg_hash_table_t* t, hg_hash_table_key_t key) {
  const hg_hash_table_entry* const e = t != nullptr ? *t->find(key) : nullptr;
  return e != nullptr ? e->value : HG_HASH_TABLE_NULL;
}

int hg_hash_table_remove(hg_hash_table_t* t, hg_hash_table_key_t key) {
  if (t == nullptr) return 0;
  hg_hash_table_entry** const at = t->find(key);
  hg_hash_table_entry* const e = *at;
  if (e == nullptr) return 0;
  *at = e->next;
  --t->entries;
  t->drop(e->key, e->value);
  delete e;
  return 1;
}

unsigned int hg_hash_table_num_entries(hg_hash_table_t* t) { return t != nullptr ? t->entries : 0; }

void hg_hash_table_iterate(hg_hash_table_t* t, hg_hash_table_iter_t* iter) {
  if (iter != nullptr) *iter = {t, nullptr, 0};
}

int hg_hash_table_iter_has_more(hg_hash_table_iter_t* iter) {
  if (iter == nullptr || iter->hash_table == nullptr) return 0;
  const auto& chains = iter->hash_table->chains;
  while (iter->next_entry == nullptr && iter->next_chain < chains.size()) iter->next_entry = chains[iter->next_chain++];
  return iter->next_entry != nullptr ? 1 : 0;
}

hg_hash_table_value_t hg_hash_table_iter_next(hg_hash_table_iter_t* iter) {
  if (hg_hash_table_iter_has_more(iter) == 0) return HG_HASH_TABLE_NULL;
  const hg_hash_table_entry* const e = iter->next_entry;
  iter->next_entry = e->next;
  return e->value;
}
