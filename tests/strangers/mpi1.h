/* SPDX-License-Identifier: Apache-2.0 */
/* Open MPI's mpi.h refuses functions of MPI 1, which Debian's library has, and which MPICH's test/mpi calls: with
 * these three it declares them. */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#define OMPI_REMOVED_USE_STATIC_ASSERT 0
#define __mpi_interface_removed__(function, other)
