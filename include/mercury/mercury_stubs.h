/* Macros that generate functions: the client's stub, which calls a function of the server like a local one, and the
 * server's routine, which executes such calls by a function of the program. Included by mercury_macros.h.
 *
 * Parameters of both macros: `func`, the function's name; with_ret: whether it returns a value, the member `ret` of the
 * result; types and fields of arguments and result, defined by MERCURY_GEN_PROC or by the program; with_bulk: whether
 * the client passes memory, the member `bulk_handle` of the arguments; bulk_read: whether the server's function reads
 * that memory (MERCURY_GEN_TRUE) or writes it. Fields are ((type)(name)) ((type)(name)) ..., without `ret` and
 * `bulk_handle`. The generated functions take the arguments, then pointers to the fields of the result except `ret`,
 * then the memory as `void* bulk_buf, size_t bulk_size`. */
#ifndef MERCURY_STUBS_H
#define MERCURY_STUBS_H

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_handler.h>
#include <mercury_proc.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
/* For C++98, g++ -pedantic warns of macros with a variable number of arguments, except in headers of the system. */
#pragma GCC system_header
extern "C" {
#endif

/* Initializes NA and HG, unless the program has, with the URL in the environment variable whose name is the macro
 * HG_NA_PLUGIN (default: tcp). Looks up the server, whose address is in the variable HG_PORT_NAME. If this function has
 * initialized NA and HG, it finalizes them when the process exits. Thread-safe. */
HG_EXPORT hg_return_t hg_stub_start(void);
/* Calls the server's function of this name and waits for the result. The caller must free *request after using the
 * result, but not after an error. Thread-safe. */
HG_EXPORT hg_return_t hg_stub_call(const char* func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
                                   void* in_struct, void* out_struct, hg_request_t* request);
/* Transfers the memory of a call's caller, and waits: HG_BULK_PULL gets it before the server's function runs,
 * HG_BULK_PUSH puts it afterwards. The first call for a handle creates *local, which the caller must free. */
HG_EXPORT hg_return_t hg_stub_bulk(hg_bulk_op_t op, hg_handle_t handle, hg_bulk_t remote, hg_bulk_t* local, void** buf,
                                   size_t* size);

#ifdef __cplusplus
}
#endif

/* A hook of the program: the server's routine calls it with the function's name before it executes the function. */
#if !defined(MERCURY_HANDLER_GEN_LOG_MESSAGE)
#define MERCURY_HANDLER_GEN_LOG_MESSAGE(x)
#endif

/* Macros with a variable number of arguments are newer than C89, for which programs may be compiled with -pedantic. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvariadic-macros"
#define MERCURY_PP_IF(condition) MERCURY_PP_JOIN(MERCURY_PP_IF_, condition)
#define MERCURY_PP_IF_1(...) __VA_ARGS__
#define MERCURY_PP_IF_0(...)
#define MERCURY_PP_UNLESS(condition) MERCURY_PP_JOIN(MERCURY_PP_UNLESS_, condition)
#define MERCURY_PP_UNLESS_1(...)
#define MERCURY_PP_UNLESS_0(...) __VA_ARGS__
#define MERCURY_PP_OR(a, b) MERCURY_PP_OR_I(a, b)
#define MERCURY_PP_OR_I(a, b) MERCURY_PP_OR_##a##b
#define MERCURY_PP_OR_00 0
#define MERCURY_PP_OR_01 1
#define MERCURY_PP_OR_10 1
#define MERCURY_PP_OR_11 1

/* Comma-separated lists with one entry for each field, expanded as the field lists of mercury_macros.h. */
#define MERCURY_PP_LIST(macro, fields) MERCURY_PP_CLOSE(macro##_FIRST fields)
#define MERCURY_PP_CLOSE(...) MERCURY_PP_CLOSE_I(__VA_ARGS__)
#define MERCURY_PP_CLOSE_I(...) __VA_ARGS__##_END

#define MERCURY_PP_IN(type, name) type name
#define MERCURY_PP_IN_FIRST(field) MERCURY_PP_CALL(MERCURY_PP_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_IN_A
#define MERCURY_PP_IN_A(field) , MERCURY_PP_CALL(MERCURY_PP_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_IN_B
#define MERCURY_PP_IN_B(field) , MERCURY_PP_CALL(MERCURY_PP_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_IN_A
#define MERCURY_PP_IN_FIRST_END
#define MERCURY_PP_IN_A_END
#define MERCURY_PP_IN_B_END

#define MERCURY_PP_OUT(type, name) type* name
#define MERCURY_PP_OUT_FIRST(field) MERCURY_PP_CALL(MERCURY_PP_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_OUT_A
#define MERCURY_PP_OUT_A(field) , MERCURY_PP_CALL(MERCURY_PP_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_OUT_B
#define MERCURY_PP_OUT_B(field) , MERCURY_PP_CALL(MERCURY_PP_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_OUT_A
#define MERCURY_PP_OUT_FIRST_END
#define MERCURY_PP_OUT_A_END
#define MERCURY_PP_OUT_B_END

#define MERCURY_PP_PASS(type, name) mercury_in.name
#define MERCURY_PP_PASS_FIRST(field) MERCURY_PP_CALL(MERCURY_PP_PASS, (MERCURY_PP_PAIR field)) MERCURY_PP_PASS_A
#define MERCURY_PP_PASS_A(field) , MERCURY_PP_CALL(MERCURY_PP_PASS, (MERCURY_PP_PAIR field)) MERCURY_PP_PASS_B
#define MERCURY_PP_PASS_B(field) , MERCURY_PP_CALL(MERCURY_PP_PASS, (MERCURY_PP_PAIR field)) MERCURY_PP_PASS_A
#define MERCURY_PP_PASS_FIRST_END
#define MERCURY_PP_PASS_A_END
#define MERCURY_PP_PASS_B_END

#define MERCURY_PP_ADDRESS(type, name) &mercury_out.name
#define MERCURY_PP_ADDRESS_FIRST(field) \
  MERCURY_PP_CALL(MERCURY_PP_ADDRESS, (MERCURY_PP_PAIR field)) MERCURY_PP_ADDRESS_A
#define MERCURY_PP_ADDRESS_A(field) , MERCURY_PP_CALL(MERCURY_PP_ADDRESS, (MERCURY_PP_PAIR field)) MERCURY_PP_ADDRESS_B
#define MERCURY_PP_ADDRESS_B(field) , MERCURY_PP_CALL(MERCURY_PP_ADDRESS, (MERCURY_PP_PAIR field)) MERCURY_PP_ADDRESS_A
#define MERCURY_PP_ADDRESS_FIRST_END
#define MERCURY_PP_ADDRESS_A_END
#define MERCURY_PP_ADDRESS_B_END

#define MERCURY_PP_SET_IN(type, name) mercury_in.name = name;
#define MERCURY_PP_SET_IN_FIRST(field) MERCURY_PP_CALL(MERCURY_PP_SET_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_SET_IN_A
#define MERCURY_PP_SET_IN_A(field) MERCURY_PP_CALL(MERCURY_PP_SET_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_SET_IN_B
#define MERCURY_PP_SET_IN_B(field) MERCURY_PP_CALL(MERCURY_PP_SET_IN, (MERCURY_PP_PAIR field)) MERCURY_PP_SET_IN_A
#define MERCURY_PP_SET_IN_FIRST_END
#define MERCURY_PP_SET_IN_A_END
#define MERCURY_PP_SET_IN_B_END

#define MERCURY_PP_GET_OUT(type, name) \
  if (name != NULL) *name = mercury_out.name;
#define MERCURY_PP_GET_OUT_FIRST(field) \
  MERCURY_PP_CALL(MERCURY_PP_GET_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_GET_OUT_A
#define MERCURY_PP_GET_OUT_A(field) MERCURY_PP_CALL(MERCURY_PP_GET_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_GET_OUT_B
#define MERCURY_PP_GET_OUT_B(field) MERCURY_PP_CALL(MERCURY_PP_GET_OUT, (MERCURY_PP_PAIR field)) MERCURY_PP_GET_OUT_A
#define MERCURY_PP_GET_OUT_FIRST_END
#define MERCURY_PP_GET_OUT_A_END
#define MERCURY_PP_GET_OUT_B_END

#define MERCURY_PP_COMMA_IF(condition) MERCURY_PP_IF(condition)(, )

/* Defines gen_func(), which calls the server's function `func`. It returns ret_fail if the call fails. It frees strings
 * of the result before it returns. */
#define MERCURY_GEN_RPC_STUB(gen_func, func, with_ret, ret_type, ret_fail, with_input, in_type, in_params,             \
                             with_output, out_type, out_params, with_bulk, bulk_read)                                  \
  MERCURY_PP_IF(with_ret)                                                                                              \
  (ret_type) MERCURY_PP_UNLESS(with_ret)(void) gen_func(                                                               \
      MERCURY_PP_IF(with_input)(MERCURY_PP_LIST(MERCURY_PP_IN, in_params))                                             \
          MERCURY_PP_IF(with_output)(MERCURY_PP_COMMA_IF(with_input) MERCURY_PP_LIST(MERCURY_PP_OUT, out_params))      \
              MERCURY_PP_IF(with_bulk)(MERCURY_PP_COMMA_IF(MERCURY_PP_OR(with_input, with_output))                     \
                                           MERCURY_PP_IF(bulk_read)(const) void* bulk_buf,                             \
                                       size_t bulk_size)                                                               \
                  MERCURY_PP_UNLESS(MERCURY_PP_OR(with_input, MERCURY_PP_OR(with_output, with_bulk)))(void)) {         \
    hg_request_t mercury_request = HG_REQUEST_NULL;                                                                    \
    MERCURY_PP_IF(with_ret)                                                                                            \
    (ret_type mercury_ret = ret_fail;) MERCURY_PP_IF(MERCURY_PP_OR(with_input, with_bulk))(in_type mercury_in;)        \
        MERCURY_PP_IF(MERCURY_PP_OR(with_ret, with_output))(out_type mercury_out;) MERCURY_PP_IF(with_bulk)(           \
            void* mercury_memory =                                                                                     \
                (void*)bulk_buf;) if (hg_stub_start() != HG_SUCCESS) return MERCURY_PP_IF(with_ret)(mercury_ret);      \
    MERCURY_PP_IF(MERCURY_PP_OR(with_ret, with_output))                                                                \
    (memset(&mercury_out, 0, sizeof mercury_out);)                                                                     \
        MERCURY_PP_IF(with_input)(MERCURY_PP_LIST(MERCURY_PP_SET_IN, in_params)) MERCURY_PP_IF(with_bulk)(             \
            if (HG_Bulk_handle_create(1, &mercury_memory, &bulk_size,                                                  \
                                      MERCURY_PP_IF(bulk_read)(HG_BULK_READ_ONLY)                                      \
                                          MERCURY_PP_UNLESS(bulk_read)(HG_BULK_READWRITE),                             \
                                      &mercury_in.bulk_handle) !=                                                      \
                HG_SUCCESS) return MERCURY_PP_IF(with_ret)(mercury_ret);) if (hg_stub_call(#func,                      \
                                                                                           MERCURY_PP_IF(              \
                                                                                               MERCURY_PP_OR(          \
                                                                                                   with_input,         \
                                                                                                   with_bulk))(        \
                                                                                               (hg_proc_cb_t)          \
                                                                                                   hg_proc_##in_type)  \
                                                                                               MERCURY_PP_UNLESS(      \
                                                                                                   MERCURY_PP_OR(      \
                                                                                                       with_input,     \
                                                                                                       with_bulk))(    \
                                                                                                   NULL),              \
                                                                                           MERCURY_PP_IF(              \
                                                                                               MERCURY_PP_OR(          \
                                                                                                   with_ret,           \
                                                                                                   with_output))(      \
                                                                                               (hg_proc_cb_t)          \
                                                                                                   hg_proc_##out_type) \
                                                                                               MERCURY_PP_UNLESS(      \
                                                                                                   MERCURY_PP_OR(      \
                                                                                                       with_ret,       \
                                                                                                       with_output))(  \
                                                                                                   NULL),              \
                                                                                           MERCURY_PP_IF(              \
                                                                                               MERCURY_PP_OR(          \
                                                                                                   with_input,         \
                                                                                                   with_bulk))(        \
                                                                                               &mercury_in)            \
                                                                                               MERCURY_PP_UNLESS(      \
                                                                                                   MERCURY_PP_OR(      \
                                                                                                       with_input,     \
                                                                                                       with_bulk))(    \
                                                                                                   NULL),              \
                                                                                           MERCURY_PP_IF(              \
                                                                                               MERCURY_PP_OR(          \
                                                                                                   with_ret,           \
                                                                                                   with_output))(      \
                                                                                               &mercury_out)           \
                                                                                               MERCURY_PP_UNLESS(      \
                                                                                                   MERCURY_PP_OR(      \
                                                                                                       with_ret,       \
                                                                                                       with_output))(  \
                                                                                                   NULL),              \
                                                                                           &mercury_request) ==        \
                                                                              HG_SUCCESS) {                            \
      MERCURY_PP_IF(with_ret)                                                                                          \
      (mercury_ret = mercury_out.ret;) MERCURY_PP_IF(with_output)(MERCURY_PP_LIST(MERCURY_PP_GET_OUT, out_params))     \
          HG_Request_free(mercury_request);                                                                            \
    }                                                                                                                  \
    MERCURY_PP_IF(with_bulk)                                                                                           \
    (HG_Bulk_handle_free(mercury_in.bulk_handle);) return MERCURY_PP_IF(with_ret)(mercury_ret);                        \
  }

/* Defines gen_func(), the routine that the server registers for `func`. With a thread pool (mercury_thread_pool.h), a
 * thread of the pool calls `func`. If decoding the arguments or the transfer fails, the caller gets an error. */
#define MERCURY_HANDLER_GEN_CALLBACK_STUB(gen_func, func, with_ret, ret_type, with_input, in_type, in_params,          \
                                          with_output, out_type, out_params, with_bulk, bulk_read, with_thread,        \
                                          thread_pool)                                                                 \
  static hg_return_t gen_func##_run(hg_handle_t mercury_handle) {                                                      \
    hg_return_t mercury_result = HG_SUCCESS;                                                                           \
    MERCURY_PP_IF(MERCURY_PP_OR(with_input, with_bulk))                                                                \
    (in_type mercury_in;) MERCURY_PP_IF(MERCURY_PP_OR(with_ret, with_output))(out_type mercury_out;) MERCURY_PP_IF(    \
        with_bulk)(hg_bulk_t mercury_local = HG_BULK_NULL; void* mercury_memory = NULL; size_t mercury_size = 0;)      \
        MERCURY_PP_IF(MERCURY_PP_OR(with_ret, with_output))(memset(&mercury_out, 0, sizeof mercury_out);)              \
            MERCURY_PP_IF(MERCURY_PP_OR(with_input, with_bulk))(memset(&mercury_in, 0, sizeof mercury_in);             \
                                                                mercury_result =                                       \
                                                                    HG_Handler_get_input(mercury_handle, &mercury_in); \
                                                                if (mercury_result != HG_SUCCESS) {                    \
                                                                  HG_Handler_free(mercury_handle);                     \
                                                                  return mercury_result;                               \
                                                                })                                                     \
                MERCURY_PP_IF(with_bulk)(mercury_result = hg_stub_bulk(                                                \
                                             HG_BULK_PULL,                                                             \
                                             MERCURY_PP_IF(bulk_read)(mercury_handle)                                  \
                                                 MERCURY_PP_UNLESS(bulk_read)(HG_HANDLE_NULL),                         \
                                             mercury_in.bulk_handle, &mercury_local, &mercury_memory, &mercury_size);  \
                                         if (mercury_result == HG_SUCCESS)) {                                          \
      MERCURY_HANDLER_GEN_LOG_MESSAGE(#func);                                                                          \
      MERCURY_PP_IF(with_ret)                                                                                          \
      (mercury_out.ret = (ret_type))                                                                                   \
          func(MERCURY_PP_IF(with_input)(MERCURY_PP_LIST(MERCURY_PP_PASS, in_params)) MERCURY_PP_IF(with_output)(      \
              MERCURY_PP_COMMA_IF(with_input) MERCURY_PP_LIST(MERCURY_PP_ADDRESS, out_params))                         \
                   MERCURY_PP_IF(with_bulk)(                                                                           \
                       MERCURY_PP_COMMA_IF(MERCURY_PP_OR(with_input, with_output)) mercury_memory, mercury_size));     \
    }                                                                                                                  \
    MERCURY_PP_IF(with_bulk)                                                                                           \
    (MERCURY_PP_UNLESS(bulk_read)(if (mercury_result == HG_SUCCESS) mercury_result =                                   \
                                      hg_stub_bulk(HG_BULK_PUSH, mercury_handle, mercury_in.bulk_handle,               \
                                                   &mercury_local, &mercury_memory, &mercury_size);)                   \
         HG_Bulk_handle_free(mercury_local);) if (mercury_result == HG_SUCCESS) mercury_result =                       \
        HG_Handler_start_output(mercury_handle, MERCURY_PP_IF(MERCURY_PP_OR(with_ret, with_output))(&mercury_out)      \
                                                    MERCURY_PP_UNLESS(MERCURY_PP_OR(with_ret, with_output))(NULL));    \
    MERCURY_PP_IF(MERCURY_PP_OR(with_input, with_bulk))                                                                \
    (HG_Handler_free_input(mercury_handle, &mercury_in);) HG_Handler_free(mercury_handle);                             \
    return mercury_result;                                                                                             \
  }                                                                                                                    \
  MERCURY_PP_IF(with_thread)                                                                                           \
  (static HG_THREAD_RETURN_TYPE gen_func##_thread(void* mercury_handle) {                                              \
    gen_func##_run((hg_handle_t)mercury_handle);                                                                       \
    return (HG_THREAD_RETURN_TYPE)0;                                                                                   \
  }) static hg_return_t                                                                                                \
  gen_func(hg_handle_t mercury_handle) {                                                                               \
    MERCURY_PP_UNLESS(with_thread)                                                                                     \
    (return gen_func##_run(mercury_handle);) MERCURY_PP_IF(with_thread)(                                               \
        if (hg_thread_pool_post(thread_pool, gen_func##_thread, mercury_handle) == HG_UTIL_SUCCESS) return HG_SUCCESS; \
        HG_Handler_free(mercury_handle); return HG_FAIL;)                                                              \
  }
#pragma GCC diagnostic pop

#endif
