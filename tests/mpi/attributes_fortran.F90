! SPDX-License-Identifier: Apache-2.0
! The attributes of headway_mpif.h from Fortran, in the three ways to use MPI.
program attributes
#if defined(HEADWAY_F08)
  use mpi_f08
#elif defined(HEADWAY_F90)
  use mpi
#endif
  implicit none
#ifdef HEADWAY_MPIF
  include 'mpif.h'
#endif
  include 'headway_mpif.h'
#ifdef HEADWAY_F08
  type(MPI_Comm) :: copy
#else
  integer :: copy
#endif
  integer :: rank, maxrate, matb, ordinary, ierror
  integer(kind=MPI_ADDRESS_KIND) :: most, limit
  logical :: known

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, maxrate, &
    HEADWAY_MAXRATE_STATE, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, matb, &
    HEADWAY_MATB_STATE, ierror)
  most = 0
  call MPI_Comm_get_attr(MPI_COMM_WORLD, maxrate, most, known, ierror)
  if (.not. known) most = -1
  if (rank == 0) print '(a,1x,i0)', 'maxrate', most
  if (known) then
    limit = most / 4
    call MPI_Comm_set_attr(MPI_COMM_WORLD, matb, limit, ierror)
  end if
  call show('quarter')
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
  limit = 0
  call MPI_Comm_get_attr(copy, matb, limit, known, ierror)
  if (.not. known) limit = -1
  if (rank == 0) print '(a,1x,i0)', 'dup', limit
  call MPI_Comm_free(copy, ierror)

  limit = 4711
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, ordinary, limit, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, ordinary, limit, ierror)
  limit = 0
  call MPI_Comm_get_attr(MPI_COMM_WORLD, ordinary, limit, known, ierror)
  if (rank == 0) print '(a,1x,i0)', 'ordinary', limit
  call MPI_Finalize(ierror)

contains

  subroutine show(what)
    character(len=*), intent(in) :: what
    integer(kind=MPI_ADDRESS_KIND) :: value
    logical :: found
    value = 0
    call MPI_Comm_get_attr(MPI_COMM_WORLD, matb, value, found, ierror)
    if (.not. found) value = -1
    if (rank == 0) print '(a,1x,i0)', what, value
  end subroutine show
end program attributes
