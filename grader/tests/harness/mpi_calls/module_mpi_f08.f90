! Right calls of MPI's bindings of 2008; never run.
subroutine s(a, n) bind(c)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer(c_int), value :: n
  real(c_double), intent(inout) :: a(n)
  integer :: i1(2)
  type(MPI_Request) :: r(2)
  call MPI_Irecv(a, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r(1))
  call MPI_Isend(a, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, MPI_COMM_WORLD, r(2))
  call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
  call MPI_Allreduce(MPI_IN_PLACE, i1, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
end subroutine
