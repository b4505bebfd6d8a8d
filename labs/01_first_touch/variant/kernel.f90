! Lab 01, a variant: first touch. Edit this file; README.md says what to do.
!
! It was right for the lab's own compute. Here another one uses the data.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  implicit none
  private
  public :: initialize

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
    !$omp end parallel do
  end subroutine initialize

end module first_touch
