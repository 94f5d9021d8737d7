/* ARMCI 1.1: one-sided copies, accumulates and atomics between the memories of processes. Link with libarmci
 * (pkg-config armci, CMake LCI::armci).
 *
 * C and C++. `proc` is a rank of the world, sizes and strides are in bytes. Functions that return int return 0, or an
 * error code after one line of text on standard error, which begins with "armci: ". Functions without a result end the
 * job where they can't do what they promise. Remote memory is memory of ARMCI_Malloc or ARMCI_Malloc_group; a process
 * may also pass any memory of its own with its own rank. Operations of one thread to one process complete in the order
 * in which they were issued, whatever their sizes and kinds. Unless it says "collective", a function is called by one
 * process alone; any thread may call it. */
#ifndef ARMCI_H
#define ARMCI_H

#include <armci_types.h>

#ifdef __cplusplus
extern "C" {
#define ARMCI_BYTES_(n) static_cast<size_t>(n)
#else
#define ARMCI_BYTES_(n) ((size_t)(n))
#endif

/* --- start, stop, errors --- */

/* Collective. Calls are counted. A program that uses MPI may initialise it before or after. */
ARMCI_API int ARMCI_Init(void);
ARMCI_API int ARMCI_Init_args(int* argc, char*** argv);
/* The level is that of MPI_Init_thread; all levels are the same here. */
ARMCI_API int ARMCI_Init_thread(int mpi_thread_level);
#ifdef MPI_VERSION
/* `comm` must have the processes of MPI_COMM_WORLD in their order. */
ARMCI_API int ARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
ARMCI_API int ARMCI_Init_mpi_comm(MPI_Comm comm);
#endif
ARMCI_API int ARMCI_Initialized(void);
/* Collective. The last of as many calls as of ARMCI_Init ends ARMCI; further calls have no effect. */
ARMCI_API int ARMCI_Finalize(void);
/* Releases what would outlive an abnormal end of the process: nothing does here. */
ARMCI_API void ARMCI_Cleanup(void);
/* Prints the message and the code to standard output and standard error, and ends the job. */
ARMCI_API void ARMCI_Error(char* message, int code);
ARMCI_API int ARMCI_Uses_shm(void);
ARMCI_API int ARMCI_Uses_shm_grp(ARMCI_Group* group);
ARMCI_API void ARMCI_Set_shm_limit(unsigned long bytes);

/* --- memory --- */

/* Collective: `bytes` may differ between processes and may be 0. ptr[p] becomes the address of p's part at p. */
ARMCI_API int ARMCI_Malloc(void* ptr[], armci_size_t bytes);
/* Collective: each process passes the address of its own part, NULL for one of 0 bytes. */
ARMCI_API int ARMCI_Free(void* ptr);
/* Collective on the group. ptr[] has an entry for each process of the group; operations take its rank in the world. */
ARMCI_API int ARMCI_Malloc_group(void* ptr[], armci_size_t bytes, ARMCI_Group* group);
ARMCI_API int ARMCI_Free_group(void* ptr, ARMCI_Group* group);
/* Local: memory for the local side of operations. */
ARMCI_API void* ARMCI_Malloc_local(armci_size_t bytes);
ARMCI_API int ARMCI_Free_local(void* ptr);
/* Like the functions without `_memdev`. `device` is ignored. */
ARMCI_API int ARMCI_Malloc_memdev(void* ptr[], armci_size_t bytes, const char* device);
ARMCI_API int ARMCI_Malloc_group_memdev(void* ptr[], armci_size_t bytes, ARMCI_Group* group, const char* device);
ARMCI_API int ARMCI_Free_memdev(void* ptr);
/* Around loads and stores of own memory that others access, too: without effect here. */
ARMCI_API void ARMCI_Access_begin(void* ptr);
ARMCI_API void ARMCI_Access_end(void* ptr);
/* Memory that one process makes alone: it sends the record to others, in any way it likes. ARMCI_Memat returns the
 * address of its byte `offset`: for the creator's host, one that can be loaded and stored; for operations that name the
 * creator, cpid, armci_addr is the address everywhere. ARMCI_Memdt ends the use of what ARMCI_Memat has returned. The
 * creator frees the memory by ARMCI_Memctl, which has no effect for others. `memflg` is 0. */
ARMCI_API void ARMCI_Memget(size_t bytes, armci_meminfo_t* meminfo, int memflg);
ARMCI_API void* ARMCI_Memat(armci_meminfo_t* meminfo, long offset);
ARMCI_API void ARMCI_Memdt(armci_meminfo_t* meminfo, long offset);
ARMCI_API void ARMCI_Memctl(armci_meminfo_t* meminfo);
/* A local copy; the ranges may overlap. */
ARMCI_API void ARMCI_Copy(void* src, void* dst, int n);

/* --- transfers: they return when the source may be reused, or the destination is filled --- */

ARMCI_API int ARMCI_Put(void* src, void* dst, int bytes, int proc);
ARMCI_API int ARMCI_Get(void* src, void* dst, int bytes, int proc);
ARMCI_API int ARMCI_Acc(int datatype, void* scale, void* src, void* dst, int bytes, int proc);
ARMCI_API int ARMCI_PutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                         int stride_levels, int proc);
ARMCI_API int ARMCI_GetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                         int stride_levels, int proc);
ARMCI_API int ARMCI_AccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                         int dst_stride_ar[], int count[], int stride_levels, int proc);
ARMCI_API int ARMCI_PutV(armci_giov_t* dscr_arr, int arr_len, int proc);
ARMCI_API int ARMCI_GetV(armci_giov_t* dscr_arr, int arr_len, int proc);
ARMCI_API int ARMCI_AccV(int datatype, void* scale, armci_giov_t* dscr_arr, int arr_len, int proc);

/* A put, then a store of `val` into `proc`'s *flag: who sees the flag sees the data. */
ARMCI_API int ARMCI_Put_flag(void* src, void* dst, int bytes, int* flag, int val, int proc);
ARMCI_API int ARMCI_PutS_flag(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                              int stride_levels, int* flag, int val, int proc);
ARMCI_API int ARMCI_PutS_flag_dir(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                                  int stride_levels, int* flag, int val, int proc);

ARMCI_API int ARMCI_PutValueInt(int value, void* dst, int proc);
ARMCI_API int ARMCI_PutValueLong(long value, void* dst, int proc);
ARMCI_API int ARMCI_PutValueFloat(float value, void* dst, int proc);
ARMCI_API int ARMCI_PutValueDouble(double value, void* dst, int proc);
ARMCI_API int ARMCI_GetValueInt(void* src, int proc);
ARMCI_API long ARMCI_GetValueLong(void* src, int proc);
ARMCI_API float ARMCI_GetValueFloat(void* src, int proc);
ARMCI_API double ARMCI_GetValueDouble(void* src, int proc);

/* ARMCI_FETCH_AND_ADD(_LONG): *ploc becomes the old value, and `value` is added. ARMCI_SWAP(_LONG): *ploc and the
 * remote value are exchanged; `value` is ignored. */
ARMCI_API int ARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc);

/* Packs strided memory into `buf`, and unpacks `buf` into strided memory. Local. */
ARMCI_API void armci_write_strided(void* ptr, int stride_levels, int stride_arr[], int count[], char* buf);
ARMCI_API void armci_read_strided(void* ptr, int stride_levels, int stride_arr[], int count[], char* buf);

/* A notification that follows all earlier puts to `proc`; returns its number, from 1. */
ARMCI_API int armci_notify(int proc);
/* Waits for `proc`'s next notification. *pval becomes the number waited for; returns how many have come. */
ARMCI_API int armci_notify_wait(int proc, int* pval);

/* --- non-blocking forms: ARMCI_Wait completes that of its handle; ARMCI_WaitProc and ARMCI_WaitAll complete all, also
 * those with a null handle --- */

ARMCI_API int ARMCI_NbPut(void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbGet(void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbAcc(int datatype, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                           int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbGetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                           int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbAccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                           int dst_stride_ar[], int count[], int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutV(armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbGetV(armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbAccV(int datatype, void* scale, armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutValueInt(int value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutValueLong(long value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutValueFloat(float value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int ARMCI_NbPutValueDouble(double value, void* dst, int proc, armci_hdl_t* req);

ARMCI_API int ARMCI_Wait(armci_hdl_t* req);
/* 0: complete; 1: not yet. */
ARMCI_API int ARMCI_Test(armci_hdl_t* req);
ARMCI_API int ARMCI_WaitProc(int proc);
ARMCI_API int ARMCI_WaitAll(void);
ARMCI_API void ARMCI_INIT_HANDLE(armci_hdl_t* req);
/* Between the two, one ARMCI_Wait completes all operations that were given the handle. */
ARMCI_API void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t* req);
ARMCI_API void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t* req);

/* --- completion at the destination, mutexes --- */

/* Waits until all puts and accumulates that this process has issued to `proc`, or to all, are complete there. */
ARMCI_API int ARMCI_Fence(int proc);
ARMCI_API int ARMCI_AllFence(void);
ARMCI_API void ARMCI_GroupFence(ARMCI_Group* group);
/* Collective: ARMCI_AllFence and a barrier. */
ARMCI_API void ARMCI_Barrier(void);
/* Collective: `count` mutexes at this process, which may be 0. */
ARMCI_API int ARMCI_Create_mutexes(int count);
ARMCI_API int ARMCI_Destroy_mutexes(void);
ARMCI_API void ARMCI_Lock(int mutex, int proc);
ARMCI_API void ARMCI_Unlock(int mutex, int proc);

/* --- groups --- */

/* Called by the listed processes, at least; others get a group without members. `pids` are ranks of the default
 * group, or of `parent`. */
ARMCI_API void ARMCI_Group_create(int n, int* pids, ARMCI_Group* group_out);
ARMCI_API void ARMCI_Group_create_child(int n, int* pids, ARMCI_Group* group_out, ARMCI_Group* parent);
ARMCI_API void ARMCI_Group_free(ARMCI_Group* group);
/* 0 if this process is a member; else 1, and *rank is -1. */
ARMCI_API int ARMCI_Group_rank(ARMCI_Group* group, int* rank);
ARMCI_API void ARMCI_Group_size(ARMCI_Group* group, int* size);
ARMCI_API void ARMCI_Group_set_default(ARMCI_Group* group);
ARMCI_API void ARMCI_Group_get_default(ARMCI_Group* group_out);
ARMCI_API void ARMCI_Group_get_world(ARMCI_Group* group_out);
/* The rank in the world of a member, -1 if there is none. */
ARMCI_API int ARMCI_Absolute_id(ARMCI_Group* group, int group_rank);

/* --- locality: processes of one domain may load and store the memory of each other's ARMCI_Malloc --- */

ARMCI_API int armci_domain_nprocs(armci_domain_t domain, int id);
ARMCI_API int armci_domain_id(armci_domain_t domain, int glob_proc_id);
ARMCI_API int armci_domain_glob_proc_id(armci_domain_t domain, int id, int loc_proc_id);
ARMCI_API int armci_domain_my_id(armci_domain_t domain);
ARMCI_API int armci_domain_count(armci_domain_t domain);
ARMCI_API int armci_domain_same_id(armci_domain_t domain, int proc);
ARMCI_API int ARMCI_Same_node(int proc);
ARMCI_API int armci_sameclusnode(int proc);

/* --- of the year 2000 --- */

/* Keeps others from accumulates to, and locks of, a range of the memory of `proc`, a process of this host. One range a
 * thread at a time. */
ARMCI_API void armci_lockmem(void* start, void* end, int proc);
ARMCI_API void armci_unlockmem(void);
/* The name of a PVM group, which nothing here uses. */
extern ARMCI_API char* mp_group_name;

/* A copy in this process. A function does it, because programs ignore the result, and compilers warn of an operator
 * whose result is ignored. */
static __inline__ int armci_put1_(const void* src, void* dst, size_t bytes) {
  memcpy(dst, src, bytes);
  return 0;
}
#define ARMCI_Put1(s, d, b, p) armci_put1_((s), (d), ARMCI_BYTES_(b))

/* --- assertions of programs: they end the job, and need the program's FUNCTION_NAME --- */

static __inline__ void armci_assertion_failed_(int code) {
  static char text[] = "assertion failed";
  ARMCI_Error(text, code);
}
#define armci_die(msg, code) ARMCI_Error((msg), (code))
#define armci_die2(msg, code1, code2)                                                                           \
  (dassertp_fail("(armci_die2)", __FILE__, FUNCTION_NAME, __LINE__, 0), derr_printf("%s %d\n", (msg), (code2)), \
   ARMCI_Error((msg), (code1)))
/* If `enabled` is not 0 and `cond` is false, these print file and line, and end the job. dassert1 also prints `ival`;
 * dassertp and dassertc print `args`, the arguments of printf in parentheses; dassertc ends the job with `code`. */
#define dassert(enabled, cond) dassertp(enabled, cond, ("assertion failed"))
#define dassert1(enabled, cond, ival) dassertp(enabled, cond, ("assertion failed: %d", (ival)))
#define dassertp(enabled, cond, args) dassertc(enabled, cond, args, 1)
#define dassertc(enabled, cond, args, code)                                                \
  ((void)(!(enabled) || (cond) ||                                                          \
          (dassertp_fail(#cond, __FILE__, FUNCTION_NAME, __LINE__, (derr_printf args, 0)), \
           armci_assertion_failed_(code), 0)))
/* What the macros call: both print to standard error; dassertp_fail returns 0. */
ARMCI_API int dassertp_fail(const char* cond, const char* file, const char* function, unsigned line, int code);
ARMCI_API void derr_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
extern "C++" { /* because programs include this header inside of their own extern "C" */
/* For messages that C++ does not let the program change, such as literals. */
inline void ARMCI_Error(const char* message, int code) { ARMCI_Error(const_cast<char*>(message), code); }
}
#endif

#include <message.h>

#endif
