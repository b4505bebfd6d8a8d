! Wrong: n is an integer of four bytes.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_int
  implicit none
  private
  public :: initialize, compute

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_int), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_int) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7), c_float)
       c(i) = 1.0
    end do
    !$omp end parallel do
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_int), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_int) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = a(i) + b(i) * c(i)
    end do
    !$omp end parallel do
  end subroutine compute

end module first_touch
