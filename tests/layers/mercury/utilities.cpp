// Mercury's utilities: times, atomic integers, threads, thread pools.
#include <mercury_atomic.h>
#include <mercury_hash_string.h>
#include <mercury_hash_table.h>
#include <mercury_list.h>
#include <mercury_queue.h>
#include <mercury_request.h>
#include <mercury_thread.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_mutex.h>
#include <mercury_thread_pool.h>
#include <mercury_time.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {
struct counted {
  hg_atomic_int32_t n;
  hg_thread_pool_t* pool;
};

void* count(void* p) {
  hg_atomic_incr32(&static_cast<counted*>(p)->n);
  return nullptr;
}

void* count_twice(void* p) {
  hg_thread_pool_post(static_cast<counted*>(p)->pool, count, p);
  return count(p);
}
}  // namespace

TEST_CASE("times are added, subtracted and compared", "[time]") {
  const hg_time_t a = hg_time_from_double(1.75), b = hg_time_from_double(0.5);
  CHECK((a.tv_sec == 1 && a.tv_usec == 750000));
  CHECK(hg_time_to_double(hg_time_add(a, b)) == Approx(2.25));
  CHECK(hg_time_to_double(hg_time_subtract(a, b)) == Approx(1.25));
  CHECK(hg_time_to_double(hg_time_subtract(b, a)) == Approx(-1.25));
  CHECK(hg_time_less(b, a));
  CHECK_FALSE(hg_time_less(a, a));
  hg_time_t t1, t2;
  REQUIRE(hg_time_get_current(&t1) == HG_UTIL_SUCCESS);
  REQUIRE(hg_time_sleep(hg_time_from_double(0.02), nullptr) == HG_UTIL_SUCCESS);
  REQUIRE(hg_time_get_current(&t2) == HG_UTIL_SUCCESS);
  CHECK(hg_time_to_double(hg_time_subtract(t2, t1)) >= 0.019);
  CHECK(std::strlen(hg_time_stamp()) > 10);
}

TEST_CASE("atomic integers", "[atomic]") {
  hg_atomic_int32_t a;
  hg_atomic_set32(&a, 5);
  CHECK(hg_atomic_incr32(&a) == 6);
  CHECK(hg_atomic_decr32(&a) == 5);
  CHECK(hg_atomic_cas32(&a, 5, 9) == HG_UTIL_TRUE);
  CHECK(hg_atomic_cas32(&a, 5, 7) == HG_UTIL_FALSE);
  CHECK(hg_atomic_get32(&a) == 9);
}

TEST_CASE("a pool executes all that was posted before its end, also by its threads", "[pool]") {
  counted c{0, nullptr};
  REQUIRE(hg_thread_pool_init(4, &c.pool) == HG_UTIL_SUCCESS);
  for (int i = 0; i < 1000; ++i) REQUIRE(hg_thread_pool_post(c.pool, count_twice, &c) == HG_UTIL_SUCCESS);
  // The pool refuses posts once its destruction has begun, so wait until the nested posts have been made.
  while (hg_atomic_get32(&c.n) < 2000) hg_time_sleep(hg_time_from_double(0.001), nullptr);
  REQUIRE(hg_thread_pool_destroy(c.pool) == HG_UTIL_SUCCESS);
  CHECK(hg_atomic_get32(&c.n) == 2000);
  CHECK(hg_thread_pool_init(0, &c.pool) == HG_UTIL_FAIL);
  CHECK(hg_thread_pool_post(nullptr, count, &c) == HG_UTIL_FAIL);
}

TEST_CASE("threads, their values, locks and conditions", "[threads]") {
  struct shared {
    hg_thread_mutex_t mutex;
    hg_thread_cond_t cond;
    hg_thread_key_t key;
    bool is_set;
  } s{};
  REQUIRE(hg_thread_mutex_init(&s.mutex) == HG_UTIL_SUCCESS);
  REQUIRE(hg_thread_cond_init(&s.cond) == HG_UTIL_SUCCESS);
  REQUIRE(hg_thread_key_create(&s.key) == HG_UTIL_SUCCESS);
  hg_thread_mutex_lock(&s.mutex);
  CHECK(hg_thread_mutex_try_lock(&s.mutex) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_timedwait(&s.cond, &s.mutex, 10) == HG_UTIL_FAIL);
  hg_thread_t t;
  hg_thread_init(&t);
  REQUIRE(hg_thread_create(
              &t,
              [](void* p) -> void* {
                auto* mine = static_cast<shared*>(p);
                hg_thread_setspecific(mine->key, p);
                hg_thread_mutex_lock(&mine->mutex);
                mine->is_set = hg_thread_getspecific(mine->key) == p;
                hg_thread_cond_signal(&mine->cond);
                hg_thread_mutex_unlock(&mine->mutex);
                return nullptr;
              },
              &s) == HG_UTIL_SUCCESS);
  while (!s.is_set) REQUIRE(hg_thread_cond_wait(&s.cond, &s.mutex) == HG_UTIL_SUCCESS);
  hg_thread_mutex_unlock(&s.mutex);
  CHECK(hg_thread_getspecific(s.key) == nullptr);
  REQUIRE(hg_thread_join(t) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_key_delete(s.key) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_cond_destroy(&s.cond) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_mutex_destroy(&s.mutex) == HG_UTIL_SUCCESS);
}

TEST_CASE("NULL arguments are errors", "[threads]") {
  hg_thread_t thread;
  hg_thread_cond_t cond;
  hg_thread_mutex_t mutex;
  REQUIRE(hg_thread_cond_init(&cond) == HG_UTIL_SUCCESS);
  REQUIRE(hg_thread_mutex_init(&mutex) == HG_UTIL_SUCCESS);
  hg_thread_init(nullptr);
  CHECK(hg_thread_create(nullptr, count, nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_create(&thread, nullptr, nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_key_create(nullptr) == HG_UTIL_FAIL);
  for (auto* f : {hg_thread_mutex_init, hg_thread_mutex_destroy, hg_thread_mutex_lock, hg_thread_mutex_try_lock,
                  hg_thread_mutex_unlock})
    CHECK(f(nullptr) == HG_UTIL_FAIL);
  for (auto* f : {hg_thread_cond_init, hg_thread_cond_destroy, hg_thread_cond_signal, hg_thread_cond_broadcast})
    CHECK(f(nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_wait(nullptr, &mutex) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_wait(&cond, nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_timedwait(nullptr, &mutex, 0) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_timedwait(&cond, nullptr, 0) == HG_UTIL_FAIL);
  CHECK(hg_thread_pool_init(1, nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_pool_post(nullptr, count, nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_pool_destroy(nullptr) == HG_UTIL_FAIL);
  CHECK(hg_time_get_current(nullptr) == HG_UTIL_FAIL);
  CHECK(hg_thread_cond_destroy(&cond) == HG_UTIL_SUCCESS);
  CHECK(hg_thread_mutex_destroy(&mutex) == HG_UTIL_SUCCESS);
}

TEST_CASE("the hash of a string is djb2", "[containers]") {
  CHECK(hg_hash_string("") == 5381);
  CHECK(hg_hash_string("a") == 5381u * 33 + 'a');
  CHECK(hg_hash_string("bb") == hg_hash_string("cA"));
  CHECK(hg_hash_string("\xff") == 5381u * 33 + 255);
  CHECK(hg_hash_string(nullptr) == 0);
}

TEST_CASE("a queue is pushed to and popped from at both ends", "[containers]") {
  hg_queue_t* const q = hg_queue_new();
  REQUIRE(q != nullptr);
  CHECK(hg_queue_is_empty(q));
  CHECK(hg_queue_pop_head(q) == HG_QUEUE_NULL);
  CHECK(hg_queue_pop_tail(q) == HG_QUEUE_NULL);
  std::deque<int*> expected;
  std::vector<int> numbers(1000);
  unsigned random = 1;
  for (int& n : numbers) {
    random = random * 1103515245 + 12345;
    switch (random >> 16 & 7) {
      case 0:
        CHECK(hg_queue_pop_head(q) == (expected.empty() ? nullptr : expected.front()));
        if (!expected.empty()) expected.pop_front();
        break;
      case 1:
        CHECK(hg_queue_pop_tail(q) == (expected.empty() ? nullptr : expected.back()));
        if (!expected.empty()) expected.pop_back();
        break;
      case 2:
      case 3:
        REQUIRE(hg_queue_push_head(q, &n) == HG_UTIL_SUCCESS);
        expected.push_front(&n);
        break;
      default:
        REQUIRE(hg_queue_push_tail(q, &n) == HG_UTIL_SUCCESS);
        expected.push_back(&n);
    }
    CHECK((hg_queue_is_empty(q) != 0) == expected.empty());
    CHECK(hg_queue_peek_head(q) == (expected.empty() ? nullptr : expected.front()));
    CHECK(hg_queue_peek_tail(q) == (expected.empty() ? nullptr : expected.back()));
  }
  hg_queue_free(q);
  hg_queue_free(nullptr);
  CHECK(hg_queue_push_tail(nullptr, &numbers) == HG_UTIL_FAIL);
  CHECK(hg_queue_push_head(nullptr, &numbers) == HG_UTIL_FAIL);
}

TEST_CASE("a list is changed at its ends and in between", "[containers]") {
  const auto equal = [](void* a, void* b) { return *static_cast<int*>(a) == *static_cast<int*>(b) ? 1 : 0; };
  const auto values = [](hg_list_entry_t* at) {
    std::string all;
    for (; at != nullptr; at = hg_list_next(at)) {
      all += std::to_string(*static_cast<int*>(hg_list_data(at)));
      CHECK((hg_list_prev(at) == nullptr || hg_list_next(hg_list_prev(at)) == at));
    }
    return all;
  };
  int numbers[] = {0, 1, 2, 3, 2};
  hg_list_entry_t* list = nullptr;
  for (int i : {1, 2, 3, 4}) REQUIRE(hg_list_append(&list, &numbers[i]) != nullptr);
  REQUIRE(hg_list_prepend(&list, &numbers[0]) == list);
  CHECK(values(list) == "01232");
  CHECK(hg_list_length(list) == 5);
  CHECK(hg_list_find_data(list, equal, &numbers[3])->data == &numbers[3]);
  CHECK(hg_list_remove_data(&list, equal, &numbers[2]) == 2);
  CHECK(hg_list_find_data(list, equal, &numbers[2]) == nullptr);
  CHECK(hg_list_remove_entry(&list, list) == 1);
  CHECK(values(list) == "13");
  CHECK(hg_list_append(nullptr, &numbers[0]) == nullptr);
  CHECK(hg_list_remove_entry(&list, nullptr) == 0);
  CHECK(hg_list_length(nullptr) == 0);
  hg_list_free(list);
}

namespace {
int freed_keys = 0, freed_values = 0;
}

TEST_CASE("a hash table finds what was inserted and not removed", "[containers]") {
  const auto hash = [](void* key) { return hg_hash_string(static_cast<char*>(key)) % 37; };  // keys collide
  const auto equal = [](void* a, void* b) {
    return std::strcmp(static_cast<char*>(a), static_cast<char*>(b)) == 0 ? 1 : 0;
  };
  hg_hash_table_t* const t = hg_hash_table_new(hash, equal);
  REQUIRE(t != nullptr);
  freed_keys = freed_values = 0;
  hg_hash_table_register_free_functions(
      t, [](void*) { ++freed_keys; }, [](void*) { ++freed_values; });
  std::vector<std::string> keys;
  for (int i = 0; i < 500; ++i) keys.push_back("key " + std::to_string(i));
  std::vector<int> values(500);
  for (size_t i = 0; i < 500; ++i) REQUIRE(hg_hash_table_insert(t, keys[i].data(), &values[i]) != 0);
  CHECK(hg_hash_table_num_entries(t) == 500);
  for (size_t i = 0; i < 500; ++i) CHECK(hg_hash_table_lookup(t, keys[i].data()) == &values[i]);
  REQUIRE(hg_hash_table_insert(t, keys[3].data(), &values[4]) != 0);
  CHECK(hg_hash_table_lookup(t, keys[3].data()) == &values[4]);
  CHECK((freed_keys == 1 && freed_values == 1));
  for (size_t i = 0; i < 500; i += 2) CHECK(hg_hash_table_remove(t, keys[i].data()) != 0);
  CHECK(hg_hash_table_remove(t, keys[0].data()) == 0);
  CHECK(hg_hash_table_lookup(t, keys[0].data()) == HG_HASH_TABLE_NULL);
  hg_hash_table_iter_t at;
  std::map<void*, int> seen;
  for (hg_hash_table_iterate(t, &at); hg_hash_table_iter_has_more(&at) != 0;) ++seen[hg_hash_table_iter_next(&at)];
  CHECK(hg_hash_table_iter_next(&at) == HG_HASH_TABLE_NULL);
  CHECK(seen.size() == 250);
  hg_hash_table_free(t);
  CHECK((freed_keys == 501 && freed_values == 501));
  hg_hash_table_free(nullptr);
  CHECK(hg_hash_table_new(nullptr, equal) == nullptr);
  CHECK(hg_hash_table_insert(nullptr, keys[0].data(), nullptr) == 0);
  CHECK(hg_hash_table_lookup(nullptr, keys[0].data()) == HG_HASH_TABLE_NULL);
  CHECK(hg_hash_table_num_entries(nullptr) == 0);
}

namespace {
/// Operations that end one after the other: a progress call ends one, a trigger call completes its request.
struct source {
  std::vector<hg_request_object_t*> posted;
  hg_atomic_int32_t ended = 0, completed = 0;
};
int end_one(unsigned timeout, void* arg) {
  auto* s = static_cast<source*>(arg);
  if (hg_atomic_get32(&s->ended) == static_cast<int>(s->posted.size())) {
    hg_time_sleep(hg_time_from_double(timeout * 1e-3), nullptr);
    return HG_UTIL_FAIL;
  }
  hg_atomic_incr32(&s->ended);
  return HG_UTIL_SUCCESS;
}
int complete_one(unsigned, unsigned* flag, void* arg) {
  auto* s = static_cast<source*>(arg);
  *flag = hg_atomic_get32(&s->completed) < hg_atomic_get32(&s->ended) ? 1 : 0;
  if (*flag != 0) hg_request_complete(s->posted[static_cast<size_t>(hg_atomic_incr32(&s->completed) - 1)]);
  return HG_UTIL_SUCCESS;
}
void* wait_for_request(void* request) {
  unsigned flag = 0;
  return hg_request_wait(static_cast<hg_request_object_t*>(request), 20000, &flag) == HG_UTIL_SUCCESS && flag != 0
             ? request
             : nullptr;
}
}  // namespace

TEST_CASE("threads wait for requests until callbacks complete them, or until a time limit", "[request]") {
  source s;
  hg_request_class_t* const c = hg_request_init(end_one, complete_one, &s);
  REQUIRE(c != nullptr);
  for (int i = 0; i < 4; ++i) s.posted.push_back(hg_request_create(c));
  hg_request_object_t* const never = hg_request_create(c);
  hg_thread_t threads[4];
  for (size_t i = 0; i < 4; ++i) REQUIRE(hg_thread_create(&threads[i], wait_for_request, s.posted[3 - i]) == 0);
  for (hg_thread_t t : threads) REQUIRE(hg_thread_join(t) == 0);
  unsigned flag = 0;
  for (hg_request_object_t* r : s.posted) {
    CHECK(hg_request_wait(r, 0, &flag) == HG_UTIL_SUCCESS);
    CHECK(flag == 1);
  }
  hg_time_t begin, end;
  hg_time_get_current(&begin);
  CHECK(hg_request_wait(never, 30, &flag) == HG_UTIL_SUCCESS);
  hg_time_get_current(&end);
  CHECK(flag == 0);
  CHECK(hg_time_to_double(hg_time_subtract(end, begin)) >= 0.029);
  CHECK(hg_request_reset(s.posted[0]) == HG_UTIL_SUCCESS);
  CHECK(hg_request_wait(s.posted[0], 0, &flag) == HG_UTIL_SUCCESS);
  CHECK(flag == 0);
  CHECK(hg_request_set_data(never, &s) == HG_UTIL_SUCCESS);
  CHECK(hg_request_get_data(never) == &s);
  for (hg_request_object_t* r : s.posted) CHECK(hg_request_destroy(r) == HG_UTIL_SUCCESS);
  CHECK(hg_request_destroy(never) == HG_UTIL_SUCCESS);
  void* argument = nullptr;
  CHECK(hg_request_finalize(c, &argument) == HG_UTIL_SUCCESS);
  CHECK(argument == &s);
  CHECK(hg_request_init(nullptr, complete_one, nullptr) == nullptr);
  CHECK(hg_request_create(nullptr) == nullptr);
  CHECK(hg_request_wait(nullptr, 0, &flag) == HG_UTIL_FAIL);
  CHECK(hg_request_complete(nullptr) == HG_UTIL_FAIL);
  CHECK(hg_request_finalize(nullptr, nullptr) == HG_UTIL_FAIL);
}
