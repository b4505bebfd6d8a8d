! Lab 03, a variant: scheduling. Edit this file; README.md says what to do.
!
! The results are right, but chance says who works where.
module scheduling
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  implicit none
  private
  public :: stream_update

contains

  subroutine stream_update(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(inout) :: a(n)
    real(c_double), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(dynamic)
    do i = 1, n
       a(i) = b(i) + 3.0_c_double * c(i)
    end do
    !$omp end parallel do
  end subroutine stream_update

end module scheduling
