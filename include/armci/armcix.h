/* Extensions of ARMCI: more ways to make groups, and mutexes of a group. */
#ifndef ARMCIX_H
#define ARMCIX_H

#include <armci.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective on the parent: those of one colour make a group, ordered by key. A negative colour: no group. */
ARMCI_API int ARMCIX_Group_split(ARMCI_Group* parent, int color, int key, ARMCI_Group* new_group);
ARMCI_API int ARMCIX_Group_dup(ARMCI_Group* parent, ARMCI_Group* new_group);

typedef struct armcix_mutex_set* armcix_mutex_hdl_t;
/* Collective on the group; `proc` is a rank in it. */
ARMCI_API armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int my_count, ARMCI_Group* pgroup);
ARMCI_API int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t hdl);
ARMCI_API void ARMCIX_Lock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
/* 0: the mutex is locked now. */
ARMCI_API int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
ARMCI_API void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t hdl, int mutex, int proc);
ARMCI_API void ARMCIX_Progress(void);

#ifdef __cplusplus
}
#endif

#endif
