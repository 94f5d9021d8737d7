/* Iterates over the contiguous segments of a strided array, the innermost level first. Makes no communication. */
#ifndef ARMCI_ITERATOR_H
#define ARMCI_ITERATOR_H

#include <armci_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Programs declare it; the functions below alone use its members. Copies walk on independently. */
typedef struct {
  char* base;
  int levels;
  int stride[ARMCI_MAX_STRIDE_LEVEL];
  int count[ARMCI_MAX_STRIDE_LEVEL + 1]; /* count[0]: bytes of a segment; others: segments, or groups of them */
  int at[ARMCI_MAX_STRIDE_LEVEL];        /* of the current segment, by level */
  int position;
  int segments;
} stride_info_t;

/* Begins with the first segment. Levels: 0 .. ARMCI_MAX_STRIDE_LEVEL; the lists may be changed afterwards. */
ARMCI_API void armci_stride_info_init(stride_info_t* info, void* base, int stride_levels, const int* stride_arr,
                                      const int* count);
ARMCI_API void armci_stride_info_destroy(stride_info_t* info);
/* How many segments there are. Both names have been used. */
ARMCI_API int armci_stride_info_size(stride_info_t* info);
ARMCI_API int armci_stride_info_count(stride_info_t* info);
/* The number of the current segment, from 0. */
ARMCI_API int armci_stride_info_pos(stride_info_t* info);
/* Makes the next segment the current one. After the last segment there is no current one. */
ARMCI_API void armci_stride_info_next(stride_info_t* info);
/* Returns a value other than 0 if there is a current segment. */
ARMCI_API int armci_stride_info_has_more(stride_info_t* info);
/* The current segment: its address, its bytes, and its distance from the base address in bytes. */
ARMCI_API void* armci_stride_info_seg_ptr(stride_info_t* info);
ARMCI_API int armci_stride_info_seg_size(stride_info_t* info);
ARMCI_API int armci_stride_info_seg_off(stride_info_t* info);

#ifdef __cplusplus
}
#endif

#endif
