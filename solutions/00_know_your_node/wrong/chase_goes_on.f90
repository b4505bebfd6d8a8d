! Wrong: each call goes on where the one before it ended.
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

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = b(i) + s * c(i)
    end do
    !$omp end parallel do
  end subroutine triad

  integer(c_size_t) function chase(next, start, steps) bind(c)
    integer(c_size_t), intent(in) :: next(0:*)
    integer(c_size_t), value :: start, steps
    integer(c_size_t) :: step
    integer(c_size_t), save :: place = 0

    if (place == 0) place = start
    do step = 1, steps
       place = next(place)
    end do
    chase = place
  end function chase

end module know_your_node
