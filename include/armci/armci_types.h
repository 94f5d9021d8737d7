/* Types and constants of ARMCI. Their numbers and layouts are those with which the binaries of Global Arrays in Debian
 * were compiled. */
#ifndef ARMCI_TYPES_H
#define ARMCI_TYPES_H

#include <stddef.h>
#include <string.h>

/* Under the compilers of MPI, as programs expect it. */
#if defined(__has_include)
#if __has_include(<mpi.h>) && !defined(ARMCI_WITHOUT_MPI)
#include <mpi.h>
#endif
#endif

#define ARMCI_API __attribute__((visibility("default")))

typedef long armci_size_t;
/* Neither C89 nor C++98 has this type, and compilers say so. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
__extension__ typedef long long armci_longlong_t;
#pragma GCC diagnostic pop
/* Nonblocking operations write it; only ARMCI_Wait and its kin, and aggregate handles, read it. */
typedef int armci_hdl_t;
typedef armci_hdl_t armci_req_t;

/* Segments of `bytes` bytes each, `ptr_ar_len` of them, from src_ptr_ar[i] to dst_ptr_ar[i]. */
typedef struct {
  __extension__ union {
    void** src_ptr_array;
    void* src_ptr_ar;
  };
  __extension__ union {
    void** dst_ptr_array;
    void* dst_ptr_ar;
  };
  int bytes;
  __extension__ union {
    int ptr_array_len;
    int ptr_ar_len;
  };
} armci_giov_t;

/* A group may be copied. `comm` is a communicator of its processes if MPI was initialised when the group was made, or
 * got by ARMCI_Group_get_world. */
typedef struct armci_group {
  __extension__ union {
    void* comm_ptr;
    int comm_int;
#ifdef MPI_VERSION
    MPI_Comm comm;
#endif
  };
  int id;
  int rank;
  int size;
  int reserved[3];
} ARMCI_Group;

/* Memory of ARMCI_Memget: its address at its creator, that of ARMCI_Memat at the creator, its bytes, its creator's
 * rank. */
typedef struct {
  char* armci_addr;
  char* addr;
  size_t size;
  int cpid;
  long idlist[128];
} armci_meminfo_t;

typedef int armci_domain_t;
enum { ARMCI_DOMAIN_SMP = 0 };

/* Elements of accumulates; `scale` points to one. */
enum ARMCI_Acc_e {
  ARMCI_ACC_INT = 0,
  ARMCI_ACC_LNG = 1,
  ARMCI_ACC_FLT = 2,
  ARMCI_ACC_DBL = 3,
  ARMCI_ACC_CPL = 4,
  ARMCI_ACC_DCP = 5
};
#define ARMCI_ACC_DCPL ARMCI_ACC_DCP

enum ARMCI_Rmw_e { ARMCI_FETCH_AND_ADD = 0, ARMCI_FETCH_AND_ADD_LONG = 1, ARMCI_SWAP = 2, ARMCI_SWAP_LONG = 3 };

#define ARMCI_MAX_STRIDE_LEVEL 8

/* Results of transfers. */
#define FAIL -1
#define FAIL2 -2
#define FAIL3 -3
#define FAIL4 -4
#define FAIL5 -5
#define FAIL6 -6
#define FAIL7 -7
#define FAIL8 -8

/* Elements of collective operations, and who takes part in them. */
enum ARMCI_Datatype_e { ARMCI_INT = 0, ARMCI_LONG = 1, ARMCI_LONG_LONG = 2, ARMCI_FLOAT = 3, ARMCI_DOUBLE = 4 };
enum ARMCI_Scope_e { SCOPE_ALL = 0, SCOPE_NODE = 1, SCOPE_MASTERS = 2 };

#endif
