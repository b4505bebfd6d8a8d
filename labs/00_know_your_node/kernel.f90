! Lab 00: know your node. Edit this file; README.md says what to do.
!
! triad is right, but one thread does all of it; chase takes one step, however
! many it is asked for.
module know_your_node
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  implicit none
  private
  public :: triad, chase

contains

  subroutine triad(n, s, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), value :: s
    real(c_double), intent(out) :: a(n)
    real(c_double), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i

    do i = 1, n
       a(i) = b(i) + s * c(i)
    end do
  end subroutine triad

  ! What next holds are indices counted from 0, and so are its own here:
  ! next(start) is where the first step leads.
  integer(c_size_t) function chase(next, start, steps) bind(c)
    integer(c_size_t), intent(in) :: next(0:*)
    integer(c_size_t), value :: start, steps

    chase = start
    if (steps > 0) chase = next(start)
  end function chase

end module know_your_node
