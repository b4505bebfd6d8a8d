! Lab 02: affinity. Edit locate here, and the placement files beside; README.md
! says what to do.
module affinity
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
  implicit none
  private
  public :: initialize, stream, locate

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

    !$omp parallel
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

    pu = -1
    numa_node = -1
  end subroutine locate

end module affinity
