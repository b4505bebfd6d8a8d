! Wrong: half of the team writes all pages, from one half of the machine.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  use omp_lib, only: omp_get_max_threads
  implicit none
  private
  public :: initialize, compute

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i
    integer :: half

    half = (omp_get_max_threads() + 1) / 2
    !$omp parallel do schedule(static) num_threads(half) proc_bind(close)
    do i = 1, n
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
    !$omp end parallel do
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = a(i) + b(i) * c(i)
    end do
    !$omp end parallel do
  end subroutine compute

end module first_touch
