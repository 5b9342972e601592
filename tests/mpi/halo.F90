! SPDX-License-Identifier: Apache-2.0
! Times the exchange of halos on a periodic 2-D grid of processes, point to
! point, as a stencil code does it.
!
!   halo BYTES REPETITIONS WARMUP [SENDERS]
!
! Every process sends BYTES to each of its four neighbours and receives as much.
! With SENDERS the exchange is a phase with headway_matb = headway_maxrate /
! SENDERS: that many processes of a cluster send to another cluster at once.
! Prints what collective_bench --pause prints, "operation" is "halo", and waits
! as it does.
program halo
  use mpi
  use, intrinsic :: iso_fortran_env, only: real64, output_unit
  implicit none
  integer, parameter :: north = 1, south = 2, west = 3, east = 4
  integer :: bytes, repetitions, warmup, senders, words
  integer :: rank, ranks, grid, neighbours(4), ierror, step
  integer :: dims(2) = 0
  integer :: phase = MPI_INFO_NULL, rest = MPI_INFO_NULL
  real(real64), allocatable :: sent(:, :), received(:, :), samples(:), starts(:)

  call MPI_Init(ierror)
  bytes = argument(1, -1)
  repetitions = argument(2, -1)
  warmup = argument(3, -1)
  senders = argument(4, 0)
  if (min(bytes, repetitions, warmup) < 0) call fail('usage: halo BYTES REPETITIONS WARMUP [SENDERS]')
  words = bytes / 8
  call make_grid()
  call know_rates()
  allocate (sent(words, 4), received(words, 4), samples(warmup + repetitions), starts(warmup + repetitions))

  do step = 1, warmup + repetitions
    if (step == warmup + 1) call pause_for_reader('before')
    call fill()
    call MPI_Barrier(grid, ierror)
    starts(step) = MPI_Wtime()
    call exchange()
    samples(step) = slowest((MPI_Wtime() - starts(step)) * 1e3_real64)
    call check()
  end do
  call pause_for_reader('after')
  if (rank == 0) call print_result()
  call MPI_Finalize(ierror)

contains

  subroutine fail(what)
    character(len=*), intent(in) :: what
    print '(a)', 'halo: ' // what
    call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
  end subroutine fail

  integer function argument(at, otherwise)
    integer, intent(in) :: at, otherwise
    character(len=32) :: text
    integer :: status
    argument = otherwise
    if (at > command_argument_count()) return
    call get_command_argument(at, text)
    read (text, *, iostat=status) argument
    if (status /= 0) call fail(trim(text) // ': not a number')
  end function argument

  ! In the order of the ranks, so that rows of the grid are neighbouring nodes.
  subroutine make_grid()
    logical :: periodic(2) = .true.
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call MPI_Dims_create(ranks, 2, dims, ierror)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, .false., grid, ierror)
    call MPI_Comm_rank(grid, rank, ierror)
    call MPI_Cart_shift(grid, 0, 1, neighbours(north), neighbours(south), ierror)
    call MPI_Cart_shift(grid, 1, 1, neighbours(west), neighbours(east), ierror)
  end subroutine make_grid

  ! The infos of the phase and of what is between; without a rate to share there are none.
  subroutine know_rates()
    integer :: known, maxrate
    character(len=16) :: value
    logical :: is_known
    if (senders == 0) return
    call MPI_Comm_get_info(grid, known, ierror)
    call MPI_Info_get(known, 'headway_maxrate', len(value), value, is_known, ierror)
    call MPI_Info_free(known, ierror)
    if (.not. is_known) return
    read (value, *) maxrate
    phase = info_of_matb(maxrate / senders)
    rest = info_of_matb(0)
  end subroutine know_rates

  integer function info_of_matb(rate) result(info)
    integer, intent(in) :: rate
    character(len=16) :: value
    write (value, '(i0)') rate
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'headway_matb', value, ierror)
  end function info_of_matb

  real(real64) function value_of(from, way, at)
    integer, intent(in) :: from, way, at
    value_of = from * 1000003.0_real64 + way * 10007.0_real64 + at + step
  end function value_of

  subroutine fill()
    integer :: way, at
    received = -1
    do way = 1, 4
      do at = 1, words
        sent(at, way) = value_of(rank, way, at)
      end do
    end do
  end subroutine fill

  ! What comes from the north was sent to the south.
  integer function opposite(way)
    integer, intent(in) :: way
    opposite = merge(way + 1, way - 1, mod(way, 2) == 1)
  end function opposite

  subroutine check()
    integer :: way, at
    do way = 1, 4
      do at = 1, words
        if (nint(received(at, way) - value_of(neighbours(way), opposite(way), at)) /= 0) then
          print '(a,i0,a,i0,a,i0)', 'halo: rank ', rank, ': wrong word ', at, ' from rank ', neighbours(way)
          call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
        end if
      end do
    end do
  end subroutine check

  subroutine exchange()
    integer :: requests(8), way
    if (phase /= MPI_INFO_NULL) call MPI_Comm_set_info(grid, phase, ierror)
    do way = 1, 4
      call MPI_Irecv(received(:, way), words, MPI_DOUBLE_PRECISION, neighbours(way), opposite(way), grid, &
        requests(way), ierror)
    end do
    do way = 1, 4
      call MPI_Isend(sent(:, way), words, MPI_DOUBLE_PRECISION, neighbours(way), way, grid, &
        requests(4 + way), ierror)
    end do
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE, ierror)
    if (rest /= MPI_INFO_NULL) call MPI_Comm_set_info(grid, rest, ierror)
  end subroutine exchange

  real(real64) function slowest(own)
    real(real64), intent(in) :: own
    slowest = 0
    call MPI_Reduce(own, slowest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, grid, ierror)
  end function slowest

  subroutine pause_for_reader(when)
    character(len=*), intent(in) :: when
    integer :: status
    if (rank == 0) then
      print '(a,a,a,i0,a)', '{"pause":"', when, '","bytes":', bytes, '}'
      flush (output_unit)
      read (*, *, iostat=status)
      if (status > 0) call fail('standard input')
    end if
    call MPI_Barrier(grid, ierror)
  end subroutine pause_for_reader

  subroutine print_list(name, values)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: values(:)
    character(len=24) :: number
    integer :: at
    write (*, '(a,a,a)', advance='no') ',"', name, '":['
    do at = 1, size(values)
      if (at > 1) write (*, '(a)', advance='no') ','
      write (number, '(f24.6)') values(at)
      write (*, '(a)', advance='no') trim(adjustl(number))
    end do
    write (*, '(a)', advance='no') ']'
  end subroutine print_list

  subroutine print_result()
    write (*, '(a,i0,a,i0)', advance='no') '{"operation":"halo","ranks":', ranks, ',"bytes":', bytes
    call print_list('warmup_ms', samples(:warmup))
    call print_list('samples_ms', samples(warmup + 1:))
    call print_list('starts_s', starts(warmup + 1:))
    print '(a)', '}'
    flush (output_unit)
  end subroutine print_result
end program halo
