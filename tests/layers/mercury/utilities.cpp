// Mercury's utilities: times, atomic integers, threads, thread pools.
#include <mercury_atomic.h>
#include <mercury_thread.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_mutex.h>
#include <mercury_thread_pool.h>
#include <mercury_time.h>

#include <catch2/catch.hpp>
#include <cstring>

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
