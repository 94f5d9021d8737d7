/* XDR routines inside processing routines of HG, through a processor's stream; and the layout of that stream. */
#define HG_HAS_XDR
#include <mercury_error.h>
#include <mercury_proc.h>
#include <mercury_proc_string.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      HG_LOG_ERROR("%s is not true", "" #condition); \
      exit(1);                                       \
    }                                                \
  } while (0)

/* The same declarations as in lib/layers/mercury/xdr.cpp. */
_Static_assert(sizeof(XDR) == 48 && offsetof(XDR, x_op) == 0 && offsetof(XDR, x_ops) == 8, "layout");
_Static_assert(offsetof(XDR, x_public) == 16 && offsetof(XDR, x_private) == 24, "layout");
_Static_assert(offsetof(struct xdr_ops, x_getlong) == 0 && offsetof(struct xdr_ops, x_putlong) == 8, "layout");
_Static_assert(offsetof(struct xdr_ops, x_getbytes) == 16 && offsetof(struct xdr_ops, x_putbytes) == 24, "layout");
_Static_assert(offsetof(struct xdr_ops, x_getpostn) == 32 && offsetof(struct xdr_ops, x_setpostn) == 40, "layout");
_Static_assert(offsetof(struct xdr_ops, x_inline) == 48 && offsetof(struct xdr_ops, x_destroy) == 56, "layout");
_Static_assert(offsetof(struct xdr_ops, x_control) == 64 && sizeof(struct xdr_ops) == 72, "layout");
_Static_assert((int)XDR_ENCODE == (int)HG_ENCODE && (int)XDR_DECODE == (int)HG_DECODE && (int)XDR_FREE == (int)HG_FREE,
               "operations");

typedef struct {
  hg_int32_t first;
  int number;
  double real;
  char* text; /* encoded by XDR */
  hg_string_t last;
} mixed_t;

static hg_return_t hg_proc_mixed_t(hg_proc_t proc, void* data) {
  mixed_t* m = (mixed_t*)data;
  XDR* xdr = hg_proc_get_xdr_ptr(proc);
  hg_return_t result = hg_proc_hg_int32_t(proc, &m->first);
  if (result != HG_SUCCESS) return result;
  if (xdr == NULL || !xdr_int(xdr, &m->number) || !xdr_double(xdr, &m->real) || !xdr_string(xdr, &m->text, 1000))
    return HG_SIZE_ERROR;
  return hg_proc_hg_string_t(proc, &m->last);
}

static size_t encode(mixed_t* m, char* buf, size_t size, hg_return_t expected) {
  hg_proc_t proc;
  size_t used;
  CHECK(hg_proc_create(buf, size, HG_ENCODE, HG_CRC64, &proc) == HG_SUCCESS);
  CHECK(hg_proc_mixed_t(proc, m) == expected && hg_proc_flush(proc) == HG_SUCCESS);
  used = hg_proc_get_size(proc) - hg_proc_get_size_left(proc);
  if (hg_proc_get_extra_buf(proc) != NULL) memcpy(buf, hg_proc_get_extra_buf(proc), used);
  CHECK(hg_proc_free(proc) == HG_SUCCESS);
  return used;
}

int main(void) {
  mixed_t in = {7, -5, 2.5, NULL, NULL}, out;
  char text[] = "by xdr", last[] = "by hg", buf[1000], again[1000];
  hg_proc_t proc;
  size_t used, cut;
  in.text = text;
  in.last = last;
  used = encode(&in, buf, sizeof buf, HG_SUCCESS);
  /* HG encodes 7 in little-endian order, XDR encodes -5 in big-endian order. */
  CHECK(memcmp(buf, "\7\0\0\0\377\377\377\373", 8) == 0);
  /* If the buffer is too small, the encoder allocates a larger one and continues there. */
  CHECK(encode(&in, again, 20, HG_SUCCESS) == used && memcmp(buf, again, used) == 0);

  memset(&out, 0, sizeof out);
  CHECK(hg_proc_create(buf, used, HG_DECODE, HG_CRC64, &proc) == HG_SUCCESS);
  CHECK(hg_proc_mixed_t(proc, &out) == HG_SUCCESS && hg_proc_flush(proc) == HG_SUCCESS);
  CHECK(hg_proc_free(proc) == HG_SUCCESS);
  CHECK(out.first == 7 && out.number == -5 && out.real == 2.5);
  CHECK(strcmp(out.text, text) == 0 && strcmp(out.last, last) == 0);
  CHECK(hg_proc_create(NULL, 0, HG_FREE, HG_NOHASH, &proc) == HG_SUCCESS);
  CHECK(hg_proc_mixed_t(proc, &out) == HG_SUCCESS && hg_proc_free(proc) == HG_SUCCESS);

  /* Decoding a truncated message fails at each length. */
  for (cut = 0; cut < used; cut++) {
    hg_return_t result;
    memset(&out, 0, sizeof out);
    CHECK(hg_proc_create(buf, cut, HG_DECODE, HG_CRC64, &proc) == HG_SUCCESS);
    result = hg_proc_mixed_t(proc, &out);
    if (result == HG_SUCCESS) result = hg_proc_flush(proc);
    CHECK(result != HG_SUCCESS);
    CHECK(hg_proc_free(proc) == HG_SUCCESS);
    free(out.text);
    free(out.last);
  }
  return 0;
}
