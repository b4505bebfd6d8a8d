! Lab 03, a variant, a solution: the loop goes as the kit's, which has written the arrays.
module scheduling
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  use omp_lib, only: omp_get_max_threads
  implicit none
  private
  public :: stream_update

contains

  subroutine stream_update(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(inout) :: a(n)
    real(c_double), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i, k, piece

    piece = n / (@deal.pieces@ * omp_get_max_threads()) + 1
    !$omp parallel do private(i) @deal.clause@
    do k = 1, n
       i = @order.fortran@
       a(i) = b(i) + 3.0_c_double * c(i)
    end do
    !$omp end parallel do
  end subroutine stream_update

end module scheduling
