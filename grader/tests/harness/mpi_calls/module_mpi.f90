! Right calls of MPI's bindings of before 2008 with buffers of several types; never run.
subroutine s(a, n) bind(c)
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  integer(c_int), value :: n
  real(c_double), intent(inout) :: a(n)
  real(c_double) :: b(1)
  integer :: r(2), ie, i1(2)
  integer :: st(MPI_STATUS_SIZE)
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r(1), ie)
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r(2), ie)
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ie)
  call MPI_Recv(b(1), 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, st, ie)
  call MPI_Allreduce(MPI_IN_PLACE, i1, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ie)
  call MPI_Bcast(i1(1), 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ie)
  call MPI_Bcast(a, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ie)
  call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ie)
end subroutine
