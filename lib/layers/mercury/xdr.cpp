// hg_proc_get_xdr(): a stream for Sun's XDR routines that reads and writes through a processor. Programs link with
// libtirpc for the routines; this library does not. So the structures here repeat the layout of libtirpc's <rpc/xdr.h>;
// tests/layers/mercury/xdr.c compares the two.
#include <endian.h>

#include <new>

#include "lib/layers/mercury/processor.hpp"

namespace mercury {

struct xdr_stream {
  struct operations {
    int (*get_long)(xdr_stream*, long*);
    int (*put_long)(xdr_stream*, const long*);
    int (*get_bytes)(xdr_stream*, char*, unsigned);
    int (*put_bytes)(xdr_stream*, const char*, unsigned);
    unsigned (*position)(xdr_stream*);
    int (*set_position)(xdr_stream*, unsigned);
    int32_t* (*in_place)(xdr_stream*, unsigned);
    void (*destroy)(xdr_stream*);
    int (*control)(xdr_stream*, int, void*);
  };
  int op = 0;  // 0 encodes, 1 decodes, 2 frees, as hg_proc_op_t
  const operations* all = nullptr;
  char* of_program = nullptr;
  processor* of = nullptr;
  char* unused = nullptr;
  unsigned unused_word = 0;
};

namespace {

int get_bytes(xdr_stream* s, char* to, unsigned n) { return s->of->copy_uncounted(to, n) == HG_SUCCESS; }
int put_bytes(xdr_stream* s, const char* from, unsigned n) {
  return s->of->copy_uncounted(const_cast<char*>(from), n) == HG_SUCCESS;
}

// XDR encodes a `long` as four bytes in big-endian order.
int get_long(xdr_stream* s, long* to) {
  uint32_t wire = 0;
  if (s->of->copy_uncounted(&wire, sizeof wire) != HG_SUCCESS) return 0;
  *to = static_cast<int32_t>(be32toh(wire));
  return 1;
}
int put_long(xdr_stream* s, const long* from) {
  uint32_t wire = htobe32(static_cast<uint32_t>(*from));
  return s->of->copy_uncounted(&wire, sizeof wire) == HG_SUCCESS;
}

unsigned position(xdr_stream* s) { return static_cast<unsigned>(s->of->used()); }
int set_position(xdr_stream* s, unsigned at) {
  processor& p = *s->of;
  return at <= p.size() && p.move_to(p.at() - p.used() + at);
}
int32_t* in_place(xdr_stream*, unsigned) { return nullptr; }  // null: XDR routines then call the functions above
void destroy(xdr_stream*) {}
int control(xdr_stream*, int, void*) { return 0; }

constexpr xdr_stream::operations operations = {get_long,     put_long, get_bytes, put_bytes, position,
                                               set_position, in_place, destroy,   control};

}  // namespace

xdr_stream* new_xdr_stream(processor& p) {
  auto* made = new (std::nothrow) xdr_stream;
  if (made == nullptr) return nullptr;
  made->op = p.op();
  made->all = &operations;
  made->of = &p;
  return made;
}

void delete_xdr_stream(xdr_stream* s) { delete s; }

}  // namespace mercury

using namespace mercury;

void* hg_proc_get_xdr(hg_proc_t proc) {
  processor* p = get<processor>(__func__, "a processor", proc);
  return p != nullptr ? p->xdr() : nullptr;
}
