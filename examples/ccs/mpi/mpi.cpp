// The subset of MPI of mpi.h: its types are descriptions of CCS, its messages those of message_passing.hpp.
#include "mpi.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../message_passing.hpp"

struct mpi_type {
  CCS_datadesc_t desc;
  CCS_aint_t lower;
  int number;            // a CCS_number_t; -1: none
  bool resized = false;  // it, or a type of which it was made
};
struct mpi_request {
  message_passing::library::request inner;
};

mpi_type mpi_byte{CCS_DATA8, 0, -1}, mpi_packed{CCS_DATA8, 0, -1}, mpi_char{CCS_DATA8, 0, -1},
    mpi_short{CCS_DATA16, 0, -1}, mpi_int{CCS_DATA32, 0, CCS_INT32}, mpi_long{CCS_DATA64, 0, CCS_INT64},
    mpi_float{CCS_DATA32, 0, CCS_FLOAT}, mpi_double{CCS_DATA64, 0, CCS_DOUBLE};

namespace {

namespace mp = message_passing;

std::unique_ptr<mp::library> messages;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "mpi over ccs: %s\n", what);
  std::abort();
}
void check(int result) { require(result == CCS_SUCCESS, "CCS has refused a call, for the reason that it has printed"); }

/// A type whose lower bound CCS does not tell, so that it is computed as MPI does.
int make(MPI_Datatype* made, CCS_aint_t lower, CCS_datadesc_t desc, bool resized) {
  *made = new mpi_type{desc, lower, -1, resized};
  return MPI_SUCCESS;
}
std::vector<int> copy(const int* values, int n) { return {values, values + n}; }
std::vector<CCS_aint_t> copy(const MPI_Aint* values, int n) { return {values, values + n}; }
size_t size_of(MPI_Datatype type) { return static_cast<size_t>(CCS_datadesc_size(type->desc)); }

/// The lowest of blocks' lower bounds.
struct lowest {
  bool any = false;
  CCS_aint_t bound = 0;
  void add(int blocklength, CCS_aint_t at, MPI_Datatype type) {
    if (blocklength == 0) return;
    if (!any || at + type->lower < bound) bound = at + type->lower;
    any = true;
  }
};

void tell(MPI_Status* status, const mp::envelope& e) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = e.source;
  status->MPI_TAG = e.tag;
  status->MPI_ERROR = MPI_SUCCESS;
  status->bytes = e.bytes;
}

}  // namespace

int MPI_Init(int*, char***) {
  check(CCS_init());
  messages = std::make_unique<mp::library>();
  return MPI_SUCCESS;
}
int MPI_Finalize(void) {
  messages.reset();
  check(CCS_finalize());
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm, int* rank) {
  CCS_node_t n = 0;
  check(CCS_get_rank(&n));
  *rank = static_cast<int>(n);
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm, int* size) {
  CCS_node_t n = 0;
  check(CCS_get_size(&n));
  *size = static_cast<int>(n);
  return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* made) {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  check(CCS_datadesc_create_contiguous(count, old->desc, &desc));
  return make(made, count == 0 ? 0 : old->lower, desc, old->resized);
}
int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype old, MPI_Datatype* made) {
  return MPI_Type_create_hvector(count, blocklength, stride * CCS_datadesc_extent(old->desc), old, made);
}
int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made) {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  if (stride == static_cast<int>(stride)) {
    check(CCS_datadesc_create_vector(count, blocklength, static_cast<int>(stride), old->desc, &desc));
  } else {  // strides of CCS have 32 bits, displacements 64
    std::vector<CCS_aint_t> at;
    for (int i = 0; i < count; ++i) at.push_back(i * stride);
    check(CCS_datadesc_create_blockindexed(count, blocklength, at.data(), old->desc, &desc));
  }
  lowest l;
  for (const int i : {0, count - 1})
    if (count > 0) l.add(blocklength, i * stride, old);
  return make(made, l.bound, desc, old->resized);
}
int MPI_Type_create_hindexed(int count, const int* blocklengths, const MPI_Aint* displacements, MPI_Datatype old,
                             MPI_Datatype* made) {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  check(CCS_datadesc_create_indexed(count, copy(blocklengths, count).data(), copy(displacements, count).data(),
                                    old->desc, &desc));
  lowest l;
  for (int i = 0; i < count; ++i) l.add(blocklengths[i], displacements[i], old);
  return make(made, l.bound, desc, old->resized);
}
int MPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint* displacements, MPI_Datatype old,
                                   MPI_Datatype* made) {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  check(CCS_datadesc_create_blockindexed(count, blocklength, copy(displacements, count).data(), old->desc, &desc));
  lowest l;
  for (int i = 0; i < count; ++i) l.add(blocklength, displacements[i], old);
  return make(made, l.bound, desc, old->resized);
}
int MPI_Type_create_struct(int count, const int* blocklengths, const MPI_Aint* displacements, const MPI_Datatype* types,
                           MPI_Datatype* made) {
  std::vector<int> lengths = copy(blocklengths, count);
  std::vector<CCS_aint_t> at = copy(displacements, count);
  std::vector<CCS_datadesc_t> descs;
  lowest l;
  CCS_aint_t upper = 0;
  bool resized = false;
  for (int i = 0; i < count; ++i) {
    descs.push_back(types[i]->desc);
    const CCS_aint_t end = displacements[i] + types[i]->lower + blocklengths[i] * CCS_datadesc_extent(types[i]->desc);
    if (blocklengths[i] > 0) upper = l.any ? std::max(upper, end) : end;
    l.add(blocklengths[i], displacements[i], types[i]);
    resized |= types[i]->resized;
  }
  // CCS has MPI-1's bounds: those of a resized member would be those of the struct.
  if (resized) {
    lengths.insert(lengths.end(), {1, 1});
    at.insert(at.end(), {l.bound, upper});
    descs.insert(descs.end(), {CCS_DATA_LB, CCS_DATA_UB});
  }
  CCS_datadesc_t desc = CCS_DATA_NULL;
  check(CCS_datadesc_create_struct(static_cast<int>(lengths.size()), lengths.data(), at.data(), descs.data(), &desc));
  return make(made, l.bound, desc, resized);
}
int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made) {
  int ones[] = {1, 1, 1};
  CCS_aint_t at[] = {lower, 0, lower + extent};
  CCS_datadesc_t descs[] = {CCS_DATA_LB, old->desc, CCS_DATA_UB};
  CCS_datadesc_t desc = CCS_DATA_NULL;
  check(CCS_datadesc_create_struct(3, ones, at, descs, &desc));
  return make(made, lower, desc, true);
}
int MPI_Type_commit(MPI_Datatype*) { return MPI_SUCCESS; }  // descriptions are compiled when they are made
int MPI_Type_free(MPI_Datatype* type) {
  CCS_datadesc_free(&(*type)->desc);
  delete *type;
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
int MPI_Type_size(MPI_Datatype type, int* size) {
  *size = static_cast<int>(size_of(type));
  return MPI_SUCCESS;
}
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
  *lower = type->lower;
  *extent = CCS_datadesc_extent(type->desc);
  return MPI_SUCCESS;
}
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm, int* size) {
  *size = count * static_cast<int>(size_of(type));
  return MPI_SUCCESS;
}
int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int room, int* position, MPI_Comm) {
  const int size = count * static_cast<int>(size_of(type));
  require(size <= room - *position, "MPI_Pack: there is no room for so many elements");
  check(CCS_pack(static_cast<char*>(out) + *position, const_cast<void*>(in), count, type->desc,
                 static_cast<size_t>(size)));
  *position += size;
  return MPI_SUCCESS;
}
int MPI_Unpack(const void* in, int size, int* position, void* out, int count, MPI_Datatype type, MPI_Comm) {
  const int bytes = count * static_cast<int>(size_of(type));
  require(bytes <= size - *position, "MPI_Unpack: there are not so many bytes");
  check(CCS_unpack(out, static_cast<char*>(const_cast<void*>(in)) + *position, count, type->desc,
                   static_cast<size_t>(bytes)));
  *position += bytes;
  return MPI_SUCCESS;
}

int MPI_Isend(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm, MPI_Request* request) {
  *request = new mpi_request;
  messages->isend((*request)->inner, buf, static_cast<size_t>(count), type->desc, to, tag);
  return MPI_SUCCESS;
}
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm, MPI_Request* request) {
  *request = new mpi_request;
  messages->irecv((*request)->inner, buf, static_cast<size_t>(count), type->desc, from, tag);
  return MPI_SUCCESS;
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (*request == MPI_REQUEST_NULL) return MPI_SUCCESS;
  tell(status, messages->wait((*request)->inner));
  delete *request;
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  *flag = *request == MPI_REQUEST_NULL || messages->test((*request)->inner);
  return *flag != 0 ? MPI_Wait(request, status) : MPI_SUCCESS;
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  for (int i = 0; i < count; ++i) MPI_Wait(requests + i, statuses == MPI_STATUSES_IGNORE ? nullptr : statuses + i);
  return MPI_SUCCESS;
}
int MPI_Send(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(buf, count, type, to, tag, comm, &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}
int MPI_Recv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(buf, count, type, from, tag, comm, &request);
  return MPI_Wait(&request, status);
}
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  const size_t size = size_of(type);
  if (size == 0)
    *count = 0;
  else
    *count = status->bytes % size == 0 ? static_cast<int>(status->bytes / size) : +MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm) {
  check(CCS_barrier());
  return MPI_SUCCESS;
}
int MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm) {
  check(CCS_bcast(buf, static_cast<size_t>(count), type->desc, static_cast<CCS_node_t>(root)));
  return MPI_SUCCESS;
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm) {
  require(type->number >= 0, "MPI_Allreduce: the type must be MPI_INT, MPI_LONG, MPI_FLOAT or MPI_DOUBLE");
  static constexpr CCS_combine_t ops[] = {CCS_SUM, CCS_PROD, CCS_MIN, CCS_MAX, CCS_AND, CCS_OR, CCS_XOR};
  check(CCS_allreduce(in == MPI_IN_PLACE ? out : in, out, static_cast<size_t>(count),
                      static_cast<CCS_number_t>(type->number), ops[op]));
  return MPI_SUCCESS;
}
