/* A subset of MPI over CCS: sends and receives of derived types, packing, and three collectives, for one thread and one
 * communicator. A program that includes <mpi.h> compiles against this header or against an MPI. Errors end the job. */
#ifndef CCS_EXAMPLE_MPI_H
#define CCS_EXAMPLE_MPI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpi_type* MPI_Datatype;
typedef struct mpi_request* MPI_Request;
typedef int MPI_Comm;
typedef int MPI_Op;
typedef intptr_t MPI_Aint;
typedef struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  size_t bytes;
} MPI_Status;

enum { MPI_SUCCESS = 0, MPI_COMM_WORLD = 0, MPI_ANY_SOURCE = -1, MPI_ANY_TAG = -1, MPI_UNDEFINED = -32766 };
enum { MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR };
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_IN_PLACE ((void*)-1)

extern struct mpi_type mpi_byte, mpi_packed, mpi_char, mpi_short, mpi_int, mpi_long, mpi_float, mpi_double;
#define MPI_BYTE (&mpi_byte)
#define MPI_PACKED (&mpi_packed)
#define MPI_CHAR (&mpi_char)
#define MPI_SHORT (&mpi_short)
#define MPI_INT (&mpi_int)
#define MPI_LONG (&mpi_long)
#define MPI_FLOAT (&mpi_float)
#define MPI_DOUBLE (&mpi_double)

int MPI_Init(int* argc, char*** argv);
int MPI_Finalize(void);
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype* made);
int MPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype old, MPI_Datatype* made);
int MPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype old, MPI_Datatype* made);
int MPI_Type_create_hindexed(int count, const int* blocklengths, const MPI_Aint* displacements, MPI_Datatype old,
                             MPI_Datatype* made);
int MPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint* displacements, MPI_Datatype old,
                                   MPI_Datatype* made);
int MPI_Type_create_struct(int count, const int* blocklengths, const MPI_Aint* displacements, const MPI_Datatype* types,
                           MPI_Datatype* made);
int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);
int MPI_Type_size(MPI_Datatype type, int* size);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent);
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int* size);
int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int room, int* position, MPI_Comm comm);
int MPI_Unpack(const void* in, int size, int* position, void* out, int count, MPI_Datatype type, MPI_Comm comm);

int MPI_Send(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
