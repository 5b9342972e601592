! SPDX-License-Identifier: Apache-2.0
! MPI_Alltoall and MPI_Alltoallv from Fortran, in each of the three ways to use
! MPI.  Before each collective rank 0 prints "call OPERATION BYTES RANKS", as
! alltoall_check.c does.  Built with one of:
!   HEADWAY_MPIF  include 'mpif.h'
!   HEADWAY_F90   use mpi
!   HEADWAY_F08   use mpi_f08, where the last argument may be left out
#if defined(HEADWAY_F08)
#define LAST_ARGUMENTS MPI_COMM_WORLD
#define DATATYPE type(MPI_Datatype)
#else
#define LAST_ARGUMENTS MPI_COMM_WORLD, ierror
#define DATATYPE integer
#endif
program alltoall_fortran
#include "use_mpi.inc"
  integer :: rank, ranks, ierror, provided
  character(len=16) :: how

  call get_command_argument(1, how)
  if (how == '--threads') then
     call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  else
     call MPI_Init(ierror)
  end if
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check_plain(3000)
  call check_plain(100)
  call check_in_place(2000)
  call check_uneven(5000)
  call check_uneven(0)
  call check_uneven_in_place(6000)
  if (rank == 0) print '(a)', 'all data right'
  call MPI_Finalize(ierror)

contains

  subroutine tell(operation, bytes)
    character(len=*), intent(in) :: operation
    integer, intent(in) :: bytes
    if (rank == 0) print '(a,1x,a,1x,i0,1x,i0)', 'call', operation, bytes, ranks
  end subroutine tell

  integer function value_of(from, to, at)
    integer, intent(in) :: from, to, at
    value_of = from * 1000003 + to * 1009 + at
  end function value_of

  subroutine expect(what, found, from, at)
    character(len=*), intent(in) :: what
    integer, intent(in) :: found, from, at
    if (found == value_of(from, rank, at)) return
    print '(a,a,3(1x,i0))', 'wrong element: ', what, rank, from, at
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine expect

  subroutine check_plain(count)
    integer, intent(in) :: count
    integer, allocatable :: sending(:, :), receiving(:, :)
    integer :: peer, at

    allocate (sending(count, 0:ranks - 1), receiving(count, 0:ranks - 1))
    do peer = 0, ranks - 1
       sending(:, peer) = [(value_of(rank, peer, at), at = 1, count)]
    end do
    call tell('alltoall', 4 * count)
    call MPI_Alltoall(sending, count, MPI_INTEGER, receiving, count, MPI_INTEGER, &
                      LAST_ARGUMENTS)
    do peer = 0, ranks - 1
       do at = 1, count
          call expect('plain', receiving(at, peer), peer, at)
       end do
    end do
  end subroutine check_plain

  ! The send arguments mean nothing in place: they hold what must not be read.
  subroutine check_in_place(count)
    integer, intent(in) :: count
    integer, allocatable :: both(:, :)
    integer :: peer, at
    DATATYPE :: nonsense

    allocate (both(count, 0:ranks - 1))
    do peer = 0, ranks - 1
       both(:, peer) = [(value_of(rank, peer, at), at = 1, count)]
    end do
#if defined(HEADWAY_F08)
    nonsense%MPI_VAL = huge(rank)
#else
    nonsense = huge(rank)
#endif
    call tell('alltoall', 4 * count)
    call MPI_Alltoall(MPI_IN_PLACE, -7, nonsense, both, count, MPI_INTEGER, &
                      MPI_COMM_WORLD, ierror)
    do peer = 0, ranks - 1
       do at = 1, count
          call expect('in place', both(at, peer), peer, at)
       end do
    end do
  end subroutine check_in_place

  ! Counts that differ from pair to pair, some zero, with a gap before each.
  subroutine lay_out(counts, places, total, largest, unit)
    integer, intent(out) :: counts(0:), places(0:), total, largest
    integer, intent(in) :: unit
    integer :: peer

    total = 0
    largest = 0
    do peer = 0, ranks - 1
       counts(peer) = mod(rank + peer, 3) * unit
       places(peer) = total + 1
       total = places(peer) + counts(peer)
       if (peer /= rank) largest = max(largest, counts(peer))
    end do
  end subroutine lay_out

  subroutine check_uneven(unit)
    integer, intent(in) :: unit
    integer :: counts(0:ranks - 1), places(0:ranks - 1), total, largest, peer, at
    integer, allocatable :: sending(:), receiving(:)

    call lay_out(counts, places, total, largest, unit)
    allocate (sending(0:total), receiving(0:total))
    do peer = 0, ranks - 1
       do at = 0, counts(peer) - 1
          sending(places(peer) + at) = value_of(rank, peer, at)
       end do
    end do
    call tell('alltoallv', 4 * largest)
    call MPI_Alltoallv(sending, counts, places, MPI_INTEGER, receiving, counts, places, &
                       MPI_INTEGER, MPI_COMM_WORLD, ierror)
    do peer = 0, ranks - 1
       do at = 0, counts(peer) - 1
          call expect('uneven', receiving(places(peer) + at), peer, at)
       end do
    end do
  end subroutine check_uneven

  subroutine check_uneven_in_place(unit)
    integer, intent(in) :: unit
    integer :: counts(0:ranks - 1), places(0:ranks - 1), total, largest, peer, at
    integer :: unread(1)
    integer, allocatable :: both(:)

    call lay_out(counts, places, total, largest, unit)
    allocate (both(0:total))
    do peer = 0, ranks - 1
       do at = 0, counts(peer) - 1
          both(places(peer) + at) = value_of(rank, peer, at)
       end do
    end do
    unread = -7
    call tell('alltoallv', 4 * largest)
    call MPI_Alltoallv(MPI_IN_PLACE, unread, unread, MPI_INTEGER, both, counts, places, &
                       MPI_INTEGER, MPI_COMM_WORLD, ierror)
    do peer = 0, ranks - 1
       do at = 0, counts(peer) - 1
          call expect('uneven in place', both(places(peer) + at), peer, at)
       end do
    end do
  end subroutine check_uneven_in_place

end program alltoall_fortran
