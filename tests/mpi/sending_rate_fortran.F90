! SPDX-License-Identifier: Apache-2.0
! A program's own rate from Fortran, in the three ways to use MPI.
program sending_rate
#include "use_mpi.inc"
#ifdef HEADWAY_F08
#define HANDLE(OF) type(OF)
#else
#define HANDLE(OF) integer
#endif
  HANDLE(MPI_Comm) :: copy
  integer :: rank, maxrate, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  maxrate = rate_of(MPI_COMM_WORLD, 'headway_maxrate')
  call show('maxrate', maxrate)
  call show('first', rate_of(MPI_COMM_WORLD, 'headway_matb'))
  if (maxrate > 0) call set_matb(MPI_COMM_WORLD, maxrate / 4)
  call show('quarter', rate_of(MPI_COMM_WORLD, 'headway_matb'))
  call send_in_phase()
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
  call show('dup', rate_of(copy, 'headway_matb'))
  call set_matb(copy, 777)
  call send_in_phase()
  call MPI_Comm_free(copy, ierror)
  call send_in_phase()
  call MPI_Finalize(ierror)

contains

  ! -1: not known.
  integer function rate_of(comm, key)
    HANDLE(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in) :: key
    character(len=16) :: value
    logical :: known
    HANDLE(MPI_Info) :: info
    call MPI_Comm_get_info(comm, info, ierror)
    call MPI_Info_get(info, key, len(value), value, known, ierror)
    call MPI_Info_free(info, ierror)
    rate_of = -1
    if (known) read (value, *) rate_of
  end function rate_of

  subroutine set_matb(comm, rate)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: rate
    character(len=16) :: value
    HANDLE(MPI_Info) :: info
    write (value, '(i0)') rate
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'headway_matb', value, ierror)
    call MPI_Comm_set_info(comm, info, ierror)
    call MPI_Info_free(info, ierror)
  end subroutine set_matb

  ! For phase_spy.c.
  subroutine send_in_phase()
    integer :: received
    HANDLE(MPI_Request) :: request
    call MPI_Isend(rank, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(received, 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine send_in_phase

  subroutine show(what, value)
    character(len=*), intent(in) :: what
    integer, intent(in) :: value
    if (rank == 0) print '(a,1x,i0)', what, value
  end subroutine show
end program sending_rate
