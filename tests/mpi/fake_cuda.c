// SPDX-License-Identifier: Apache-2.0
// Preload, behind the helper: a CUDA driver whose device memory is memory that only MPI
// can touch.  Whoever else reads or writes it gets SIGSEGV.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICE_BYTES ((size_t)64 << 20)
#define MEMORY_TYPE 2 /* an attribute */
#define DEVICE 2      /* its value */
#define INVALID_VALUE 1

static char *memory;
static size_t used;

static void allow(int access)
{
	if (memory && mprotect(memory, DEVICE_BYTES, access) != 0)
		abort();
}

static void open_memory(void)
{
	allow(PROT_READ | PROT_WRITE);
}

static void close_memory(void)
{
	allow(PROT_NONE);
}

EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
	if (!memory) {
		memory = mmap(NULL, DEVICE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			abort();
	}
	if (bytes > DEVICE_BYTES - used)
		return INVALID_VALUE;
	*address = (uintptr_t)(memory + used);
	used += bytes;
	return 0;
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes)
{
	open_memory();
	memcpy((void *)(uintptr_t)to, from, bytes);
	close_memory();
	return 0;
}

EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
	open_memory();
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	close_memory();
	return 0;
}

EXPORT int cuPointerGetAttribute(void *data, int attribute, unsigned long long address)
{
	if (attribute != MEMORY_TYPE || !memory || address < (uintptr_t)memory ||
	    address >= (uintptr_t)memory + DEVICE_BYTES)
		return INVALID_VALUE;
	*(unsigned *)data = DEVICE;
	return 0;
}

/* The MPI library may touch it in these. */
#define IN_MPI(name, parameters, arguments)						\
	EXPORT int PMPI_##name parameters						\
	{										\
		static __typeof__(&PMPI_##name) real;					\
		int result;								\
											\
		if (!real)								\
			real = (__typeof__(real))dlsym(RTLD_NEXT, "PMPI_" #name);	\
		if (!real)								\
			abort();							\
		open_memory();								\
		result = real arguments;						\
		close_memory();								\
		return result;								\
	}

IN_MPI(Isend, (const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	       MPI_Request *request), (buf, count, type, to, tag, comm, request))
IN_MPI(Irecv, (void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	       MPI_Request *request), (buf, count, type, from, tag, comm, request))
IN_MPI(Send, (const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
       (buf, count, type, to, tag, comm))
IN_MPI(Recv, (void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	      MPI_Status *status), (buf, count, type, from, tag, comm, status))
IN_MPI(Start, (MPI_Request *request), (request))
IN_MPI(Request_free, (MPI_Request *request), (request))
IN_MPI(Wait, (MPI_Request *request, MPI_Status *status), (request, status))
IN_MPI(Waitsome, (int count, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
       (count, requests, done, which, statuses))
IN_MPI(Testsome, (int count, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
       (count, requests, done, which, statuses))
IN_MPI(Waitall, (int count, MPI_Request *requests, MPI_Status *statuses), (count, requests, statuses))
IN_MPI(Alltoall, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		  int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
IN_MPI(Alltoallv, (const void *sendbuf, const int *sendcounts, const int *sdispls, MPI_Datatype sendtype,
		   void *recvbuf, const int *recvcounts, const int *rdispls, MPI_Datatype recvtype,
		   MPI_Comm comm),
       (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm))
IN_MPI(Gather, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
		MPI_Datatype recvtype, int root, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
IN_MPI(Scatter, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
		 MPI_Datatype recvtype, int root, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm))
IN_MPI(Allgather, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		   int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
       (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))
IN_MPI(Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm),
       (buf, count, type, root, comm))
IN_MPI(Allreduce, (const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
		   MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm))
