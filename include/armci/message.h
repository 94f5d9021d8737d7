/* Messages and collective operations beside ARMCI: on the world unless a group is passed. Messages are matched by
 * source and tag, in order. `op` begins with one of + * max min absmax absmin or, && land || lor & band | bor;
 * what follows, such as blanks, is ignored. The results of && and || are 0 or 1. */
#ifndef ARMCI_MESSAGE_H
#define ARMCI_MESSAGE_H

#include <armci_types.h>

#ifdef __cplusplus
extern "C" {
#endif

ARMCI_API int armci_msg_me(void);
ARMCI_API int armci_msg_nproc(void);
ARMCI_API void armci_msg_abort(int code);
ARMCI_API void armci_msg_init(int* argc, char*** argv);
ARMCI_API void armci_msg_finalize(void);
/* Seconds, since any time. */
ARMCI_API double armci_timer(void);

ARMCI_API void armci_msg_snd(int tag, void* buffer, int len, int to);
/* *msglen, if not null, becomes the length of the message, which may be shorter than the buffer. */
ARMCI_API void armci_msg_rcv(int tag, void* buffer, int buflen, int* msglen, int from);
/* Receives a message of any process, and returns that process. */
ARMCI_API int armci_msg_rcvany(int tag, void* buffer, int buflen, int* msglen);

ARMCI_API void armci_msg_barrier(void);
ARMCI_API void armci_msg_group_barrier(ARMCI_Group* group);
ARMCI_API void armci_msg_bcast(void* buffer, int len, int root);
ARMCI_API void armci_msg_brdcst(void* buffer, int len, int root);
ARMCI_API void armci_msg_bcast_scope(int scope, void* buffer, int len, int root);
/* `root` is a rank of the world. */
ARMCI_API void armci_msg_group_bcast_scope(int scope, void* buffer, int len, int root, ARMCI_Group* group);
ARMCI_API void armci_msg_clus_brdcst(void* buffer, int len);
ARMCI_API void armci_grp_clus_brdcst(void* buffer, int len, int grp_master, int grp_clus_nproc, ARMCI_Group* group);

/* Combine n elements of all processes; each gets the result, in place. */
ARMCI_API void armci_msg_gop_scope(int scope, void* x, int n, char* op, int type);
ARMCI_API void armci_msg_igop(int* x, int n, char* op);
ARMCI_API void armci_msg_lgop(long* x, int n, char* op);
ARMCI_API void armci_msg_llgop(armci_longlong_t* x, int n, char* op);
ARMCI_API void armci_msg_fgop(float* x, int n, char* op);
ARMCI_API void armci_msg_dgop(double* x, int n, char* op);
ARMCI_API void armci_msg_group_gop_scope(int scope, void* x, int n, char* op, int type, ARMCI_Group* group);
ARMCI_API void armci_msg_group_igop(int* x, int n, char* op, ARMCI_Group* group);
ARMCI_API void armci_msg_group_lgop(long* x, int n, char* op, ARMCI_Group* group);
ARMCI_API void armci_msg_group_llgop(armci_longlong_t* x, int n, char* op, ARMCI_Group* group);
ARMCI_API void armci_msg_group_fgop(float* x, int n, char* op, ARMCI_Group* group);
ARMCI_API void armci_msg_group_dgop(double* x, int n, char* op, ARMCI_Group* group);
ARMCI_API void armci_msg_clus_igop(int* x, int n, char* op);
ARMCI_API void armci_msg_clus_lgop(long* x, int n, char* op);
ARMCI_API void armci_msg_clus_llgop(armci_longlong_t* x, int n, char* op);
ARMCI_API void armci_msg_clus_fgop(float* x, int n, char* op);
ARMCI_API void armci_msg_clus_dgop(double* x, int n, char* op);
/* The result is at rank 0 alone. */
ARMCI_API void armci_msg_reduce(void* x, int n, char* op, int type);
ARMCI_API void armci_msg_reduce_scope(int scope, void* x, int n, char* op, int type);
/* Records of n bytes that begin with an element of `type`: everybody gets the record whose element is the largest
 * ("max") or smallest ("min") of those processes whose `contribute` is not 0. */
ARMCI_API void armci_msg_sel_scope(int scope, void* x, int n, char* op, int type, int contribute);
ARMCI_API void armci_msg_sel(void* x, int n, char* op, int type, int contribute);

/* A binary tree with root 0; -1 stands for none. */
ARMCI_API void armci_msg_bintree(int scope, int* root, int* up, int* left, int* right);
/* Add up arrays of pointers in which each process has filled its own. */
ARMCI_API void armci_exchange_address(void* ptr_ar[], int n);
ARMCI_API void armci_exchange_address_grp(void* ptr_ar[], int n, ARMCI_Group* group);

#ifdef __cplusplus
}
#endif

#endif
