// mercury_thread.h, mercury_thread_mutex.h and mercury_thread_condition.h.
#include <mercury_thread.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_mutex.h>
#include <time.h>

namespace {
int code(int error) { return error == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL; }

/// f(first, more...), or HG_UTIL_FAIL if the first argument is NULL.
template <class T, class... More>
int checked(int (*f)(T*, More...), T* first, More... more) {
  return first != nullptr ? code(f(first, more...)) : HG_UTIL_FAIL;
}
}  // namespace

void hg_thread_init(hg_thread_t* thread) {
  if (thread != nullptr) *thread = 0;
}
int hg_thread_create(hg_thread_t* thread, hg_thread_func_t f, void* data) {
  if (thread == nullptr || f == nullptr) return HG_UTIL_FAIL;
  return code(pthread_create(thread, nullptr, f, data));
}
void hg_thread_exit(hg_thread_ret_t ret) { pthread_exit(ret); }
int hg_thread_join(hg_thread_t thread) { return code(pthread_join(thread, nullptr)); }
int hg_thread_cancel(hg_thread_t thread) { return code(pthread_cancel(thread)); }
int hg_thread_key_create(hg_thread_key_t* key) {
  return key != nullptr ? code(pthread_key_create(key, nullptr)) : HG_UTIL_FAIL;
}
int hg_thread_key_delete(hg_thread_key_t key) { return code(pthread_key_delete(key)); }
void* hg_thread_getspecific(hg_thread_key_t key) { return pthread_getspecific(key); }
int hg_thread_setspecific(hg_thread_key_t key, const void* value) { return code(pthread_setspecific(key, value)); }

int hg_thread_mutex_init(hg_thread_mutex_t* mutex) {
  return mutex != nullptr ? code(pthread_mutex_init(mutex, nullptr)) : HG_UTIL_FAIL;
}
int hg_thread_mutex_destroy(hg_thread_mutex_t* mutex) { return checked(pthread_mutex_destroy, mutex); }
int hg_thread_mutex_lock(hg_thread_mutex_t* mutex) { return checked(pthread_mutex_lock, mutex); }
int hg_thread_mutex_try_lock(hg_thread_mutex_t* mutex) { return checked(pthread_mutex_trylock, mutex); }
int hg_thread_mutex_unlock(hg_thread_mutex_t* mutex) { return checked(pthread_mutex_unlock, mutex); }

int hg_thread_cond_init(hg_thread_cond_t* cond) {
  if (cond == nullptr) return HG_UTIL_FAIL;
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return HG_UTIL_FAIL;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);  // so that setting the date does not change a limit
  const int error = pthread_cond_init(cond, &attributes);
  pthread_condattr_destroy(&attributes);
  return code(error);
}
int hg_thread_cond_destroy(hg_thread_cond_t* cond) { return checked(pthread_cond_destroy, cond); }
int hg_thread_cond_signal(hg_thread_cond_t* cond) { return checked(pthread_cond_signal, cond); }
int hg_thread_cond_broadcast(hg_thread_cond_t* cond) { return checked(pthread_cond_broadcast, cond); }
int hg_thread_cond_wait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex) {
  return mutex != nullptr ? checked(pthread_cond_wait, cond, mutex) : HG_UTIL_FAIL;
}
int hg_thread_cond_timedwait(hg_thread_cond_t* cond, hg_thread_mutex_t* mutex, unsigned int timeout) {
  if (cond == nullptr || mutex == nullptr) return HG_UTIL_FAIL;
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout / 1000;
  until.tv_nsec += static_cast<long>(timeout % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  return code(pthread_cond_timedwait(cond, mutex, &until));
}
