/* Macros that define the structure and the processing routine of a function's arguments, and register the function.
 * They do not need Boost. If a program defines HG_HAS_BOOST, this header includes Boost's preprocessor header, as
 * Mercury's. */
#ifndef MERCURY_MACROS_H
#define MERCURY_MACROS_H

#include <mercury.h>
#include <mercury_handler.h>
#include <mercury_proc.h>
#if defined(HG_HAS_BOOST)
#include <boost/preprocessor.hpp>
#endif

/* For functions without arguments or without a result. */
#define hg_proc_void ((hg_proc_cb_t)0)

/* Registers a function whose argument and result types have routines of the names hg_proc_TYPE; `void` is allowed. */
#define MERCURY_REGISTER(func_name_string, in_struct_type, out_struct_type, rpc_cb) \
  HG_Register(func_name_string, hg_proc_##in_struct_type, hg_proc_##out_struct_type, rpc_cb)

#define MERCURY_GEN_TRUE 1
#define MERCURY_GEN_FALSE 0

/* A list of fields ((type)(name)) ((type)(name)) ... is processed by two macros that expand to each other's name, since
 * a macro is not expanded within itself. After the last field the next macro's name remains; pasting _END to it makes
 * it expand to nothing. */
#define MERCURY_PP_JOIN(a, b) MERCURY_PP_JOIN_I(a, b)
#define MERCURY_PP_JOIN_I(a, b) a##b
#define MERCURY_PP_CALL(macro, arguments) macro arguments
#define MERCURY_PP_PAIR(type) type, MERCURY_PP_PAIR_I
#define MERCURY_PP_PAIR_I(name) name

#define MERCURY_PP_FIELD(type, name) type name;
#define MERCURY_PP_FIELD_A(field) MERCURY_PP_CALL(MERCURY_PP_FIELD, (MERCURY_PP_PAIR field)) MERCURY_PP_FIELD_B
#define MERCURY_PP_FIELD_B(field) MERCURY_PP_CALL(MERCURY_PP_FIELD, (MERCURY_PP_PAIR field)) MERCURY_PP_FIELD_A
#define MERCURY_PP_FIELD_A_END
#define MERCURY_PP_FIELD_B_END

#define MERCURY_PP_PROC(type, name)                                        \
  mercury_result = (hg_return_t)hg_proc_##type(proc, &mercury_data->name); \
  if (mercury_result != HG_SUCCESS) return mercury_result;
#define MERCURY_PP_PROC_A(field) MERCURY_PP_CALL(MERCURY_PP_PROC, (MERCURY_PP_PAIR field)) MERCURY_PP_PROC_B
#define MERCURY_PP_PROC_B(field) MERCURY_PP_CALL(MERCURY_PP_PROC, (MERCURY_PP_PAIR field)) MERCURY_PP_PROC_A
#define MERCURY_PP_PROC_A_END
#define MERCURY_PP_PROC_B_END

#if defined(__GNUC__)
#define MERCURY_PP_UNUSED __attribute__((unused))
#else
#define MERCURY_PP_UNUSED
#endif

/* Defines hg_proc_TYPE() for an existing structure. It calls the routines of the fields in order, up to the first that
 * fails. */
#define MERCURY_GEN_STRUCT_PROC(struct_type_name, fields)                                                 \
  MERCURY_PP_UNUSED static HG_INLINE hg_return_t hg_proc_##struct_type_name(hg_proc_t proc, void* data) { \
    struct_type_name* mercury_data = (struct_type_name*)data;                                             \
    hg_return_t mercury_result = HG_SUCCESS;                                                              \
    MERCURY_PP_JOIN(MERCURY_PP_PROC_A fields, _END)                                                       \
    return mercury_result;                                                                                \
  }

/* Defines the structure and hg_proc_TYPE(). Each field's type must be one word. */
#define MERCURY_GEN_PROC(struct_type_name, fields)   \
  typedef struct {                                   \
    MERCURY_PP_JOIN(MERCURY_PP_FIELD_A fields, _END) \
  } struct_type_name;                                \
  MERCURY_GEN_STRUCT_PROC(struct_type_name, fields)

#include <mercury_stubs.h>

#endif
