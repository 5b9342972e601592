! SPDX-License-Identifier: Apache-2.0
! Runs every collective, blocking and nonblocking, with random counts from
! Fortran and prints a digest of all ranks' buffers for each, so that two runs
! can be compared.  Built three times: HEADWAY_MPIF, HEADWAY_F90, HEADWAY_F08.
!
!   collectives_{mpif,f90,f08} CASES
!
! Errors are not looked at: the default error handler ends the job.
#ifdef HEADWAY_F08
#define COMM_TYPE type(MPI_Comm)
#define REQUEST_TYPE type(MPI_Request)
#define DATATYPE_TYPE type(MPI_Datatype)
#else
#define COMM_TYPE integer
#define REQUEST_TYPE integer
#define DATATYPE_TYPE integer
#endif

program collectives
#include "use_mpi.inc"
  integer, parameter :: operations = 19, most = 700, room = 65536, ranks_max = 16
  integer, parameter :: int64 = selected_int_kind(18)
  integer :: rank, ranks, cases, number, operation, ierror
  integer(int64) :: state
  integer :: send(room), recv(room), count, root, i
  integer, dimension(ranks_max) :: scounts, sdispls, rcounts, rdispls
  integer(kind=MPI_ADDRESS_KIND), dimension(ranks_max) :: sbytes, rbytes
  DATATYPE_TYPE :: types(ranks_max), strided
  COMM_TYPE :: world, graph
  REQUEST_TYPE :: request
  logical :: waits, in_place
  character(len=32) :: argument

  call MPI_Init(ierror)
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank, ierror)
  call MPI_Comm_size(world, ranks, ierror)
  if (ranks > ranks_max) call MPI_Abort(world, 2, ierror)
  call get_command_argument(1, argument)
  read (argument, *) cases
  ! MPICH's mpi_f08 takes every topology for a distributed graph
  call MPI_Dist_graph_create_adjacent(world, 2, [mod(rank + ranks - 1, ranks), &
    mod(rank + ranks - 3, ranks)], MPI_UNWEIGHTED, 2, [mod(rank + 1, ranks), &
    mod(rank + 3, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, ierror)
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, strided, ierror)
  call MPI_Type_commit(strided, ierror)

  state = 12345
  do number = 0, cases - 1
    operation = mod(number, operations)
    waits = draw(2) == 0
    in_place = draw(3) == 0
    count = draw(most)
    if (draw(5) == 0) count = 0
    root = draw(ranks)
    do i = 1, ranks
      scounts(i) = between(rank, i - 1)
      rcounts(i) = between(i - 1, rank)
      sdispls(i) = (i - 1) * (most + 3)
      rdispls(i) = (i - 1) * (most + 5)
      types(i) = MPI_INTEGER
    end do
    sbytes = sdispls * 4
    rbytes = rdispls * 4
    do i = 1, room
      send(i) = ieor(i * 7919, rank * 65537 + number)
      recv(i) = ieor(i * 104729, rank * 257 + number)
    end do
    call run
    if (waits) call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call tell
  end do

  call MPI_Type_free(strided, ierror)
  call MPI_Comm_free(graph, ierror)
  call MPI_Finalize(ierror)

contains

  integer function draw(below)
    integer, intent(in) :: below
    state = iand(state * 1103515245_int64 + 12345_int64, 2147483647_int64)
    draw = int(mod(state / 65536_int64, int(below, int64)))
  end function draw

  ! From one rank to another; alike at both, and both ways, for MPI_IN_PLACE.
  integer function between(from, to)
    integer, intent(in) :: from, to
    between = mod((from + to + 1) * 6151 + abs(from - to) * 31 + number * 193, most)
    if (mod(between, 5) == 0) between = 0
  end function between

  subroutine tell
    integer(int64) :: digest, all(ranks_max)
    integer :: at
    digest = 1469598103934665603_int64
    do at = 1, room
      digest = ieor(digest, int(recv(at), int64)) * 1099511628211_int64
      digest = ieor(digest, int(send(at), int64)) * 1099511628211_int64
    end do
    call MPI_Gather(digest, 1, MPI_INTEGER8, all, 1, MPI_INTEGER8, 0, world, ierror)
    if (rank /= 0) return
    do at = 2, ranks
      all(1) = ieor(all(1) * 31_int64, all(at))
    end do
    print '(i0,1x,i0,1x,l1,1x,l1,1x,i0,1x,i0,1x,z16.16)', number, operation, waits, in_place, &
      root, count, all(1)
  end subroutine tell

  subroutine run
    select case (operation)
    case (0)
      if (waits) then
        call MPI_Ialltoall(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, world, request, ierror)
      else if (in_place) then
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, recv, count, MPI_INTEGER, world, ierror)
      else
        call MPI_Alltoall(send, count, strided, recv, 2 * count, MPI_INTEGER, world, ierror)
      end if
    case (1)
      if (waits) then
        call MPI_Ialltoallv(send, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, world, request, ierror)
      else if (in_place) then
        call MPI_Alltoallv(MPI_IN_PLACE, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, world, ierror)
      else
        call MPI_Alltoallv(send, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, world, ierror)
      end if
    case (2)
      sdispls = sdispls * 4
      rdispls = rdispls * 4
      if (waits) then
        call MPI_Ialltoallw(send, scounts, sdispls, types, recv, rcounts, rdispls, types, world, &
          request, ierror)
      else
        call MPI_Alltoallw(send, scounts, sdispls, types, recv, rcounts, rdispls, types, world, ierror)
      end if
    case (3)
      if (waits) then
        call MPI_Iallgather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, world, request, ierror)
      else if (in_place) then
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, recv, count, MPI_INTEGER, world, ierror)
      else
        call MPI_Allgather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, world, ierror)
      end if
    case (4)
      do i = 1, ranks
        rcounts(i) = between(i - 1, i - 1)
      end do
      if (waits) then
        call MPI_Iallgatherv(send, rcounts(rank + 1), MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, world, request, ierror)
      else
        call MPI_Allgatherv(send, rcounts(rank + 1), MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, world, ierror)
      end if
    case (5)
      if (waits) then
        call MPI_Igather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, root, world, request, ierror)
      else if (in_place .and. rank == root) then
        call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, recv, count, MPI_INTEGER, root, world, ierror)
      else
        call MPI_Gather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, root, world, ierror)
      end if
    case (6)
      do i = 1, ranks
        rcounts(i) = between(i - 1, root)
      end do
      if (waits) then
        call MPI_Igatherv(send, rcounts(rank + 1), MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, root, world, request, ierror)
      else
        call MPI_Gatherv(send, rcounts(rank + 1), MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, root, world, ierror)
      end if
    case (7)
      if (waits) then
        call MPI_Iscatter(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, root, world, request, ierror)
      else
        call MPI_Scatter(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, root, world, ierror)
      end if
    case (8)
      do i = 1, ranks
        scounts(i) = between(root, i - 1)
      end do
      if (waits) then
        call MPI_Iscatterv(send, scounts, sdispls, MPI_INTEGER, recv, scounts(rank + 1), &
          MPI_INTEGER, root, world, request, ierror)
      else
        call MPI_Scatterv(send, scounts, sdispls, MPI_INTEGER, recv, scounts(rank + 1), &
          MPI_INTEGER, root, world, ierror)
      end if
    case (9)
      if (waits) then
        call MPI_Ibcast(recv, count, MPI_INTEGER, root, world, request, ierror)
      else
        call MPI_Bcast(recv, count, MPI_INTEGER, root, world, ierror)
      end if
    case (10)
      if (waits) then
        call MPI_Ireduce(send, recv, count, MPI_INTEGER, MPI_SUM, root, world, request, ierror)
      else
        call MPI_Reduce(send, recv, count, MPI_INTEGER, MPI_SUM, root, world, ierror)
      end if
    case (11)
      if (waits) then
        call MPI_Iallreduce(send, recv, count, MPI_INTEGER, MPI_MAX, world, request, ierror)
      else if (in_place) then
        call MPI_Allreduce(MPI_IN_PLACE, recv, count, MPI_INTEGER, MPI_MAX, world, ierror)
      else
        call MPI_Allreduce(send, recv, count, MPI_INTEGER, MPI_MAX, world, ierror)
      end if
    case (12)
      do i = 1, ranks
        rcounts(i) = between(i - 1, i - 1)
      end do
      if (waits) then
        call MPI_Ireduce_scatter(send, recv, rcounts, MPI_INTEGER, MPI_BXOR, world, request, ierror)
      else
        call MPI_Reduce_scatter(send, recv, rcounts, MPI_INTEGER, MPI_BXOR, world, ierror)
      end if
    case (13)
      if (waits) then
        call MPI_Ireduce_scatter_block(send, recv, count, MPI_INTEGER, MPI_SUM, world, request, ierror)
      else
        call MPI_Reduce_scatter_block(send, recv, count, MPI_INTEGER, MPI_SUM, world, ierror)
      end if
    case (14)
      if (waits) then
        call MPI_Ineighbor_allgather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, graph, &
          request, ierror)
      else
        call MPI_Neighbor_allgather(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, graph, ierror)
      end if
    case (15)
      rcounts = count
      if (waits) then
        call MPI_Ineighbor_allgatherv(send, count, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, graph, request, ierror)
      else
        call MPI_Neighbor_allgatherv(send, count, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, graph, ierror)
      end if
    case (16)
      if (waits) then
        call MPI_Ineighbor_alltoall(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, graph, &
          request, ierror)
      else
        call MPI_Neighbor_alltoall(send, count, MPI_INTEGER, recv, count, MPI_INTEGER, graph, ierror)
      end if
    case (17)
      scounts = count
      rcounts = count
      if (waits) then
        call MPI_Ineighbor_alltoallv(send, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, graph, request, ierror)
      else
        call MPI_Neighbor_alltoallv(send, scounts, sdispls, MPI_INTEGER, recv, rcounts, rdispls, &
          MPI_INTEGER, graph, ierror)
      end if
    case (18)
      scounts = count
      rcounts = count
      if (waits) then
        call MPI_Ineighbor_alltoallw(send, scounts, sbytes, types, recv, rcounts, rbytes, types, &
          graph, request, ierror)
      else
        call MPI_Neighbor_alltoallw(send, scounts, sbytes, types, recv, rcounts, rbytes, types, &
          graph, ierror)
      end if
    end select
  end subroutine run
end program collectives
