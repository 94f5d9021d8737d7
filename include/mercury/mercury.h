/* HG, the function shipper of Mercury v0.8.2: calls of functions in other processes, over NA. Link with libmercury
 * (pkg-config mercury, CMake LCI::mercury). docs/guide/mercury.md explains it.
 *
 * Misuse returns HG_FAIL (HG_Register(): 0) and prints a line on standard error that begins with "mercury: " and the
 * function's name. Time limits are in milliseconds. Any thread may call any function at any time between HG_Init() and
 * HG_Finalize(). */
#ifndef MERCURY_H
#define MERCURY_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

HG_EXPORT hg_return_t HG_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch);
/* The name of a code's constant in mercury_types.h. */
HG_EXPORT const char* HG_Error_to_string(hg_return_t errnum);

/* Initializes HG, which sends calls by this class. The class must exist until HG_Finalize(). Also calls HG_Bulk_init()
 * with the class, unless the program has called it before. */
HG_EXPORT hg_return_t HG_Init(na_class_t* na_class);
/* Finalizes HG. Waits until answers have been sent; drops the results of incomplete calls; finalizes transfers if they
 * use the same class. If calls have not been answered or operations of the network have not completed after ten
 * seconds, returns HG_FAIL and prints which; HG remains initialized, so that the program can call HG_Finalize() again.
 * Handles of answered calls that are not freed within half a second are only reported. If bulk handles have not been
 * freed, or transfers not been waited for, HG is finalized, but HG_FAIL is returned; transfers end when the last one is
 * freed. Fails in callbacks and routines that HG_Trigger() or HG_Wait() runs. */
HG_EXPORT hg_return_t HG_Finalize(void);
/* Sets *flag to whether HG is initialized, and *na_class to its class. na_class may be NULL. */
HG_EXPORT hg_return_t HG_Initialized(hg_bool_t* flag, na_class_t** na_class);

/* Registers a function and returns its id, which is the same in each process that registers the name. in_proc_cb or
 * out_proc_cb is NULL for a function without arguments or result; rpc_cb is NULL in a process that only calls it.
 * Returns 0 if another registered name has the same id. */
HG_EXPORT hg_id_t HG_Register(const char* func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                              hg_rpc_cb_t rpc_cb);
HG_EXPORT hg_return_t HG_Registered(const char* func_name, hg_bool_t* flag, hg_id_t* id);

/* Starts a call. Encodes the arguments before it returns. HG_Wait() writes the result to *out_struct, which must exist
 * until then. If addr is the process's own address, HG_Wait() or HG_Handler_process() executes the call, without the
 * network. */
HG_EXPORT hg_return_t HG_Forward(na_addr_t addr, hg_id_t id, void* in_struct, void* out_struct, hg_request_t* request);
/* Waits at most `timeout` ms and sets *status to whether the call is complete. Returns HG_SUCCESS if it has succeeded
 * or is not complete. A failed call is complete, and HG_Wait() returns the reason. */
HG_EXPORT hg_return_t HG_Wait(hg_request_t request, unsigned int timeout, hg_status_t* status);
HG_EXPORT hg_return_t HG_Wait_all(int count, hg_request_t array_of_requests[], unsigned int timeout,
                                  hg_status_t* array_of_statuses);
/* Frees the request, and memory that was allocated when its result was decoded. The result of an incomplete call is
 * dropped. */
HG_EXPORT hg_return_t HG_Request_free(hg_request_t request);

#ifdef __cplusplus
}

/* Overloads for functions that return int instead of hg_return_t, as in Mercury's publications. In C the two types are
 * compatible. */
extern "C++" {
namespace mercury {
typedef int (*int_proc_t)(hg_proc_t, void*);
typedef int (*int_rpc_t)(hg_handle_t);
template <class F>
struct returns_int {
  static const bool value = false;
};
template <>
struct returns_int<int_proc_t> {
  static const bool value = true;
};
template <>
struct returns_int<int_rpc_t> {
  static const bool value = true;
};
template <bool, class T>
struct only_if {};
template <class T>
struct only_if<true, T> {
  typedef T type;
};
inline hg_proc_cb_t as_proc(int_proc_t f) { return reinterpret_cast<hg_proc_cb_t>(f); }
inline hg_proc_cb_t as_proc(hg_proc_cb_t f) { return f; }
inline hg_proc_cb_t as_proc(long) { return hg_proc_cb_t(); } /* NULL */
inline hg_rpc_cb_t as_rpc(int_rpc_t f) { return reinterpret_cast<hg_rpc_cb_t>(f); }
inline hg_rpc_cb_t as_rpc(hg_rpc_cb_t f) { return f; }
inline hg_rpc_cb_t as_rpc(long) { return hg_rpc_cb_t(); }
#if __cplusplus >= 201103L
inline hg_proc_cb_t as_proc(decltype(nullptr)) { return hg_proc_cb_t(); }
inline hg_rpc_cb_t as_rpc(decltype(nullptr)) { return hg_rpc_cb_t(); }
#endif
} /* namespace mercury */

template <class In, class Out, class Rpc>
inline typename mercury::only_if<mercury::returns_int<In>::value || mercury::returns_int<Out>::value ||
                                     mercury::returns_int<Rpc>::value,
                                 hg_id_t>::type
HG_Register(const char* func_name, In in_proc_cb, Out out_proc_cb, Rpc rpc_cb) {
  return HG_Register(func_name, mercury::as_proc(in_proc_cb), mercury::as_proc(out_proc_cb), mercury::as_rpc(rpc_cb));
}
}
#endif

#endif
