! SPDX-License-Identifier: MIT
!
! headway_mpif.h: a Fortran program sets its own sending rate; what the
! attributes mean: headway_mpi.h.  For fixed and for free form, after
! "include 'mpif.h'", "use mpi" or "use mpi_f08":
!
!   include 'headway_mpif.h'
!   integer :: matb, maxrate, ierror
!   integer(kind=MPI_ADDRESS_KIND) :: max, limit
!   logical :: known
!
!   call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &
!        MPI_COMM_NULL_DELETE_FN, maxrate, HEADWAY_MAXRATE_STATE, ierror)
!   call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &
!        MPI_COMM_NULL_DELETE_FN, matb, HEADWAY_MATB_STATE, ierror)
!
!   call MPI_Comm_get_attr(comm, maxrate, max, known, ierror)
!   if (known) then
!     limit = max / n
!     call MPI_Comm_set_attr(comm, matb, limit, ierror)
!   end if
!
! In Fortran a get returns the value itself.
!
      integer(kind=MPI_ADDRESS_KIND), parameter ::                      &
     &  HEADWAY_MAXRATE_STATE = 5207640305901328641_MPI_ADDRESS_KIND
      integer(kind=MPI_ADDRESS_KIND), parameter ::                      &
     &  HEADWAY_MATB_STATE = 5207640305901328642_MPI_ADDRESS_KIND
