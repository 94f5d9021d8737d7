/* Second names of ARMCI's functions, by which a program calls them that has a function of its own with the first
 * one. */
#ifndef PARMCI_H
#define PARMCI_H

#include <armci_types.h>

#ifdef __cplusplus
extern "C" {
#endif

ARMCI_API int PARMCI_Init(void);
ARMCI_API int PARMCI_Init_args(int* argc, char*** argv);
ARMCI_API int PARMCI_Init_thread(int mpi_thread_level);
#ifdef MPI_VERSION
ARMCI_API int PARMCI_Init_thread_comm(int mpi_thread_level, MPI_Comm comm);
ARMCI_API int PARMCI_Init_mpi_comm(MPI_Comm comm);
#endif
ARMCI_API int PARMCI_Initialized(void);
ARMCI_API int PARMCI_Finalize(void);
ARMCI_API int PARMCI_Uses_shm(void);
ARMCI_API void PARMCI_Set_shm_limit(unsigned long bytes);
ARMCI_API int PARMCI_Malloc(void* ptr[], armci_size_t bytes);
ARMCI_API int PARMCI_Free(void* ptr);
ARMCI_API void* PARMCI_Malloc_local(armci_size_t bytes);
ARMCI_API int PARMCI_Free_local(void* ptr);
ARMCI_API int PARMCI_Malloc_memdev(void* ptr[], armci_size_t bytes, const char* device);
ARMCI_API int PARMCI_Free_memdev(void* ptr);
ARMCI_API void PARMCI_Memget(size_t bytes, armci_meminfo_t* meminfo, int memflg);
ARMCI_API void* PARMCI_Memat(armci_meminfo_t* meminfo, long offset);
ARMCI_API void PARMCI_Memdt(armci_meminfo_t* meminfo, long offset);
ARMCI_API void PARMCI_Memctl(armci_meminfo_t* meminfo);
ARMCI_API void PARMCI_Access_begin(void* ptr);
ARMCI_API void PARMCI_Access_end(void* ptr);
ARMCI_API int PARMCI_Put(void* src, void* dst, int bytes, int proc);
ARMCI_API int PARMCI_Get(void* src, void* dst, int bytes, int proc);
ARMCI_API int PARMCI_Acc(int datatype, void* scale, void* src, void* dst, int bytes, int proc);
ARMCI_API int PARMCI_PutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                          int stride_levels, int proc);
ARMCI_API int PARMCI_GetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                          int stride_levels, int proc);
ARMCI_API int PARMCI_AccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                          int dst_stride_ar[], int count[], int stride_levels, int proc);
ARMCI_API int PARMCI_PutV(armci_giov_t* dscr_arr, int arr_len, int proc);
ARMCI_API int PARMCI_GetV(armci_giov_t* dscr_arr, int arr_len, int proc);
ARMCI_API int PARMCI_AccV(int datatype, void* scale, armci_giov_t* dscr_arr, int arr_len, int proc);
ARMCI_API int PARMCI_Put_flag(void* src, void* dst, int bytes, int* flag, int val, int proc);
ARMCI_API int PARMCI_PutS_flag(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                               int stride_levels, int* flag, int val, int proc);
ARMCI_API int PARMCI_PutS_flag_dir(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                                   int stride_levels, int* flag, int val, int proc);
ARMCI_API int PARMCI_PutValueInt(int value, void* dst, int proc);
ARMCI_API int PARMCI_PutValueLong(long value, void* dst, int proc);
ARMCI_API int PARMCI_PutValueFloat(float value, void* dst, int proc);
ARMCI_API int PARMCI_PutValueDouble(double value, void* dst, int proc);
ARMCI_API int PARMCI_GetValueInt(void* src, int proc);
ARMCI_API long PARMCI_GetValueLong(void* src, int proc);
ARMCI_API float PARMCI_GetValueFloat(void* src, int proc);
ARMCI_API double PARMCI_GetValueDouble(void* src, int proc);
ARMCI_API int PARMCI_Rmw(int op, void* ploc, void* prem, int value, int proc);
ARMCI_API int PARMCI_NbPut(void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbGet(void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbAcc(int datatype, void* scale, void* src, void* dst, int bytes, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                            int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbGetS(void* src_ptr, int src_stride_ar[], void* dst_ptr, int dst_stride_ar[], int count[],
                            int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbAccS(int datatype, void* scale, void* src_ptr, int src_stride_ar[], void* dst_ptr,
                            int dst_stride_ar[], int count[], int stride_levels, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutV(armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbGetV(armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbAccV(int datatype, void* scale, armci_giov_t* dscr_arr, int arr_len, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutValueInt(int value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutValueLong(long value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutValueFloat(float value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_NbPutValueDouble(double value, void* dst, int proc, armci_hdl_t* req);
ARMCI_API int PARMCI_Wait(armci_hdl_t* req);
ARMCI_API int PARMCI_Test(armci_hdl_t* req);
ARMCI_API int PARMCI_WaitProc(int proc);
ARMCI_API int PARMCI_WaitAll(void);
ARMCI_API int PARMCI_Fence(int proc);
ARMCI_API int PARMCI_AllFence(void);
ARMCI_API void PARMCI_GroupFence(ARMCI_Group* group);
ARMCI_API void PARMCI_Barrier(void);
ARMCI_API int PARMCI_Create_mutexes(int count);
ARMCI_API int PARMCI_Destroy_mutexes(void);
ARMCI_API void PARMCI_Lock(int mutex, int proc);
ARMCI_API void PARMCI_Unlock(int mutex, int proc);
ARMCI_API void parmci_msg_barrier(void);
ARMCI_API void parmci_msg_group_barrier(ARMCI_Group* group);

#ifdef __cplusplus
}
#endif

#endif
