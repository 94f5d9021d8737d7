// HG_Init(), HG_Finalize(), and the registration of functions.
#include <mercury.h>

#include <new>

#include "lib/layers/mercury/bulk.hpp"
#include "lib/layers/mercury/runtime.hpp"
#include "lib/layers/mercury/state.hpp"

namespace mercury {

state the_state;

std::shared_ptr<lane> lane_for(na_class_t* na) {
  const runtime* hg = the_state.hg.load(std::memory_order_relaxed);
  if (hg != nullptr && hg->network->na() == na) return hg->network;
  const bulk_runtime* bulk = the_state.bulk.load(std::memory_order_relaxed);
  if (bulk != nullptr && bulk->network->na() == na) return bulk->network;
  return lane::open(na);
}

runtime* current(const char* function) {
  runtime* r = the_state.hg.load(std::memory_order_acquire);
  if (__builtin_expect(r == nullptr, 0)) fail(HG_FAIL, function, "HG_Init() must be called before");
  return r;
}

}  // namespace mercury

using namespace mercury;

namespace {
// HG_Finalize() waits at most, in milliseconds:
constexpr unsigned longest_wait = 10000;  // for threads that still answer calls, and peers that still read answers
constexpr unsigned handle_wait = 500;     // for threads that have answered calls and are about to free their handles

/// `misuse`: the code for an invalid argument.
hg_return_t is_initialized(const char* function, hg_return_t misuse, na_class_t* na, hg_bool_t* flag,
                           na_class_t** na_class) {
  if (flag == nullptr) return fail(misuse, function, "flag is NULL, but must not be");
  *flag = na != nullptr ? HG_TRUE : HG_FALSE;
  if (na_class != nullptr) *na_class = na;
  return HG_SUCCESS;
}
}  // namespace

hg_return_t HG_Init(na_class_t* na_class) {
  if (na_class == nullptr) return fail(HG_FAIL, __func__, "na_class is NULL: has NA_Initialize() succeeded?");
  std::lock_guard guard(the_state.lock);
  if (the_state.hg.load(std::memory_order_relaxed) != nullptr)
    return fail(HG_FAIL, __func__, "HG is initialized already: call HG_Finalize() before");
  return guarded("HG_Init", [&] {
    std::shared_ptr<lane> network = lane_for(na_class);
    if (network == nullptr) return fail(HG_NA_ERROR, "HG_Init", "the class has no further context");
    auto made = std::make_unique<runtime>(std::move(network));
    if (made->largest_request <= sizeof(request_header) || made->largest_response <= sizeof(response_header))
      return fail(HG_SIZE_ERROR, "HG_Init",
                  "messages of the class are too small: requests need more than %zu bytes, "
                  "responses more than %zu",
                  sizeof(request_header), sizeof(response_header));
    the_state.hg.store(made.release(), std::memory_order_release);
    if (the_state.bulk.load(std::memory_order_relaxed) != nullptr) return HG_SUCCESS;
    hg_return_t result = HG_NOMEM_ERROR;
    try {
      result = init_bulk("HG_Init", na_class);
    } catch (const std::bad_alloc&) {
      fail(result, "HG_Init", "no memory is left");
    }
    if (result != HG_SUCCESS) delete the_state.hg.exchange(nullptr, std::memory_order_acq_rel);
    return result;
  });
}

hg_return_t HG_Finalize() {
  std::lock_guard guard(the_state.lock);
  runtime* r = current(__func__);
  if (r == nullptr) return HG_FAIL;
  if (execution_scope::is_inside(r))
    return fail(HG_FAIL, __func__,
                "a callback or routine that HG_Trigger() or HG_Wait() runs has called it: finalize when that function "
                "has returned");
  return guarded("HG_Finalize", [&] {
    const runtime::remainder left = r->drain(longest_wait, handle_wait);
    if (left.unanswered != 0)
      return fail(HG_FAIL, "HG_Finalize",
                  "calls that have not been answered within %u ms: %zu, e.g. of \"%s\"; answer them or free their "
                  "handles, then call HG_Finalize() again",
                  longest_wait, left.unanswered, left.function);
    if (left.operations != 0)
      return fail(HG_FAIL, "HG_Finalize",
                  "operations of the network that have not completed within %u ms: %u; call HG_Finalize() again when "
                  "the peers have ended",
                  longest_wait, left.operations);
    if (left.answered != 0)
      fail(HG_SUCCESS, "HG_Finalize",
           "handles of answered calls that were not freed: %zu; call HG_Handler_free() for each", left.answered);
    r->abandon_handles();
    the_state.hg.store(nullptr, std::memory_order_release);
    const na_class_t* na = r->network->na();
    delete r;
    // Finalize bulk transfers even if the program has initialized them itself. Some programs do not call
    // HG_Bulk_finalize(), and NA_Finalize() fails while their context exists.
    const bulk_runtime* bulk = the_state.bulk.load(std::memory_order_relaxed);
    if (bulk == nullptr || bulk->network->na() != na) return HG_SUCCESS;
    const hg_return_t result = finalize_bulk("HG_Finalize");
    the_state.ends_bulk.store(result != HG_SUCCESS, std::memory_order_relaxed);
    return result;
  });
}

hg_return_t HG_Initialized(hg_bool_t* flag, na_class_t** na_class) {
  const runtime* r = the_state.hg.load(std::memory_order_acquire);
  return is_initialized(__func__, HG_FAIL, r != nullptr ? r->network->na() : nullptr, flag, na_class);
}

hg_return_t HG_Bulk_initialized(hg_bool_t* flag, na_class_t** na_class) {
  const bulk_runtime* b = the_state.bulk.load(std::memory_order_acquire);
  return is_initialized(__func__, HG_INVALID_PARAM, b != nullptr ? b->network->na() : nullptr, flag, na_class);
}

hg_return_t HG_Bulk_init(na_class_t* na_class) {
  std::lock_guard guard(the_state.lock);
  return guarded("HG_Bulk_init", [&] { return init_bulk("HG_Bulk_init", na_class); });
}

hg_return_t HG_Bulk_finalize() {
  std::lock_guard guard(the_state.lock);
  return guarded("HG_Bulk_finalize", [] { return finalize_bulk("HG_Bulk_finalize"); });
}

hg_id_t HG_Register(const char* func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb) {
  runtime* r = current(__func__);
  if (r == nullptr) return 0;
  if (func_name == nullptr) {
    fail(HG_FAIL, __func__, "func_name is NULL, but must not be");
    return 0;
  }
  hg_id_t id = 0;
  guarded(__func__, [&] {
    const function* made = r->functions.add(func_name, in_proc_cb, out_proc_cb, rpc_cb);
    if (made == nullptr)
      return fail(HG_FAIL, "HG_Register", "another function has the id %u of \"%s\": rename one of them",
                  function_table::id_of(func_name), func_name);
    id = made->id;
    return HG_SUCCESS;
  });
  return id;
}

hg_return_t HG_Registered(const char* func_name, hg_bool_t* flag, hg_id_t* id) {
  const runtime* r = current(__func__);
  if (r == nullptr) return HG_FAIL;
  if (func_name == nullptr || flag == nullptr)
    return fail(HG_FAIL, __func__, "%s is NULL, but must not be", func_name == nullptr ? "func_name" : "flag");
  const function* found = r->functions.find(function_table::id_of(func_name));
  const bool is_there = found != nullptr && found->name == func_name;
  *flag = is_there ? HG_TRUE : HG_FALSE;
  if (id != nullptr) *id = is_there ? found->id : 0;
  return HG_SUCCESS;
}
