! Wrong: one thread more in stream than the kit asks for.
module affinity
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
  use omp_lib, only: omp_get_max_threads
  implicit none
  private
  public :: initialize, stream, locate

  interface
     function sched_getcpu() result(pu) bind(c)
       import :: c_int
       integer(c_int) :: pu
     end function sched_getcpu

     function numa_node_of_cpu(pu) result(numa_node) bind(c)
       import :: c_int
       integer(c_int), value :: pu
       integer(c_int) :: numa_node
     end function numa_node_of_cpu
  end interface

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = 1.0_c_double
       b(i) = 2.0_c_double
       c(i) = 0.0_c_double
    end do
    !$omp end parallel do
  end subroutine initialize

  subroutine stream(n, s, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), value :: s
    real(c_double), intent(inout) :: a(n), b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel num_threads(omp_get_max_threads() + 1)
    !$omp do schedule(static)
    do i = 1, n
       c(i) = a(i)
    end do
    !$omp end do
    !$omp do schedule(static)
    do i = 1, n
       b(i) = s * c(i)
    end do
    !$omp end do
    !$omp do schedule(static)
    do i = 1, n
       c(i) = a(i) + b(i)
    end do
    !$omp end do
    !$omp do schedule(static)
    do i = 1, n
       a(i) = b(i) + s * c(i)
    end do
    !$omp end do
    !$omp end parallel
  end subroutine stream

  subroutine locate(pu, numa_node) bind(c)
    integer(c_int), intent(out) :: pu, numa_node

    pu = sched_getcpu()
    numa_node = numa_node_of_cpu(pu)
  end subroutine locate

end module affinity
