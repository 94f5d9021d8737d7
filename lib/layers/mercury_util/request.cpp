// mercury_request.h.
#include <mercury_request.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

/// The program's functions, and which thread calls them. Created and destroyed by the program.
struct hg_request_class {
  const hg_request_progress_func_t progress;
  const hg_request_trigger_func_t trigger;
  void* const argument;
  std::mutex lock;
  std::condition_variable changed;  // a request has been completed, or no thread makes progress any more
  bool is_led = false;              // under lock: a thread makes progress
};

struct hg_request_object {
  hg_request_class* const owner;
  void* data = nullptr;
  bool is_complete = false;  // under the lock of the class
};

namespace {

using clock = std::chrono::steady_clock;

constexpr unsigned longest_ms = 100;  // of one call that makes progress: another thread may complete the request

unsigned left_ms(clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
  return left > 0 ? static_cast<unsigned>(left) + 1 : 0;
}

/// Runs all callbacks, and makes progress if there were none.
void advance(const hg_request_class& c, unsigned timeout_ms) {
  unsigned ran = 0, flag = 0;
  while (c.trigger(0, &flag, c.argument) == HG_UTIL_SUCCESS && flag != 0) {
    ++ran;
    flag = 0;
  }
  if (ran == 0) c.progress(timeout_ms < longest_ms ? timeout_ms : longest_ms, c.argument);
}

}  // namespace

hg_request_class_t* hg_request_init(hg_request_progress_func_t progress_func, hg_request_trigger_func_t trigger_func,
                                    void* arg) {
  if (progress_func == nullptr || trigger_func == nullptr) return nullptr;
  return new (std::nothrow) hg_request_class{progress_func, trigger_func, arg, {}, {}, false};
}

int hg_request_finalize(hg_request_class_t* request_class, void** arg) {
  if (request_class == nullptr) return HG_UTIL_FAIL;
  if (arg != nullptr) *arg = request_class->argument;
  delete request_class;
  return HG_UTIL_SUCCESS;
}

hg_request_object_t* hg_request_create(hg_request_class_t* request_class) {
  return request_class != nullptr ? new (std::nothrow) hg_request_object{request_class} : nullptr;
}

int hg_request_destroy(hg_request_object_t* request) {
  if (request == nullptr) return HG_UTIL_FAIL;
  delete request;
  return HG_UTIL_SUCCESS;
}

int hg_request_reset(hg_request_object_t* request) {
  if (request == nullptr) return HG_UTIL_FAIL;
  std::lock_guard guard(request->owner->lock);
  request->is_complete = false;
  return HG_UTIL_SUCCESS;
}

int hg_request_complete(hg_request_object_t* request) {
  if (request == nullptr) return HG_UTIL_FAIL;
  std::lock_guard guard(request->owner->lock);
  request->is_complete = true;
  request->owner->changed.notify_all();  // under the lock, as the waiting thread may destroy all this afterwards
  return HG_UTIL_SUCCESS;
}

int hg_request_wait(hg_request_object_t* request, unsigned int timeout, unsigned int* flag) {
  if (request == nullptr) return HG_UTIL_FAIL;
  hg_request_class& c = *request->owner;
  const clock::time_point end = clock::now() + std::chrono::milliseconds(timeout);
  std::unique_lock guard(c.lock);
  for (bool has_tried = false; !request->is_complete; has_tried = true) {
    const unsigned left = left_ms(end);
    if (left == 0 && has_tried) break;
    if (c.is_led) {
      c.changed.wait_for(guard, std::chrono::milliseconds(left < longest_ms ? left : longest_ms));
      continue;
    }
    c.is_led = true;
    guard.unlock();
    advance(c, left);
    guard.lock();
    c.is_led = false;
    c.changed.notify_all();
  }
  if (flag != nullptr) *flag = request->is_complete ? HG_UTIL_TRUE : HG_UTIL_FALSE;
  return HG_UTIL_SUCCESS;
}

int hg_request_set_data(hg_request_object_t* request, void* data) {
  if (request == nullptr) return HG_UTIL_FAIL;
  request->data = data;
  return HG_UTIL_SUCCESS;
}

void* hg_request_get_data(hg_request_object_t* request) { return request != nullptr ? request->data : nullptr; }
