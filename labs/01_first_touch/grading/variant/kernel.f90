! Lab 01, a variant: first touch. Edit this file; README.md says what to do.
!
! The results are right, but the data is in the wrong place for the kit's compute.
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

    a = 0.0
    do i = 1, n
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
    end do
    c = 1.0
  end subroutine initialize

end module first_touch
