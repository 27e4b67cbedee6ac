c     ring.f - a few calls that all forms of Fortran have, by mpif.h
c
c     SPDX-License-Identifier: Apache-2.0
      program ring
      implicit none
      include 'mpif.h'
      integer ierr, rank, other, comm, request(2), i, index
      integer status(MPI_STATUS_SIZE)
      double precision x, y
      integer a(10), b(20)
      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      other = 1 - rank
      do i = 1, 10
        a(i) = i
      end do
      x = 1
      if (rank .eq. 0) then
        call MPI_Send(a, 10, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, ierr)
      else
        call MPI_Recv(b, 20, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &                MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      end if
      call MPI_Irecv(b, 20, MPI_INTEGER, other, 8, MPI_COMM_WORLD,
     &               request(1), ierr)
      call MPI_Isend(a, 4, MPI_INTEGER, other, 8, MPI_COMM_WORLD,
     &               request(2), ierr)
      call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
      call MPI_Irecv(b, 20, MPI_INTEGER, other, 9, MPI_COMM_WORLD,
     &               request(1), ierr)
      request(2) = MPI_REQUEST_NULL
      call MPI_Send(a, 5, MPI_INTEGER, other, 9, MPI_COMM_WORLD, ierr)
      call MPI_Waitany(2, request, index, status, ierr)
      call MPI_Allreduce(x, y, 1, MPI_DOUBLE_PRECISION, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call MPI_Allreduce(MPI_IN_PLACE, y, 1, MPI_DOUBLE_PRECISION,
     &                   MPI_SUM, MPI_COMM_WORLD, ierr)
      call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, comm, ierr)
      call MPI_Comm_set_name(comm, 'alone', ierr)
      call MPI_Bcast(a, 3, MPI_INTEGER, 0, comm, ierr)
      call MPI_Comm_free(comm, ierr)
      call MPI_Finalize(ierr)
      if (y .ne. 4) stop 9
      if (index .ne. 1) stop 8
      if (b(5) .ne. 5) stop 7
      end
