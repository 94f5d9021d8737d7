/* The macros by which test programs of ARMCI start, end and meet: here those of MPI. */
#ifndef MP3_H
#define MP3_H

#include <mpi.h>

#define MP_INIT(argc, argv) MPI_Init(&(argc), &(argv))
#define MP_FINALIZE() MPI_Finalize()
#define MP_BARRIER() MPI_Barrier(MPI_COMM_WORLD)
#define MP_PROCS(pproc) MPI_Comm_size(MPI_COMM_WORLD, pproc)
#define MP_MYID(pid) MPI_Comm_rank(MPI_COMM_WORLD, pid)
#define MP_TIMER() MPI_Wtime()
#define ARMCI_INIT(argc, argv) ARMCI_Init()
#define GA_INIT(argc, argv) GA_Initialize()

#endif
