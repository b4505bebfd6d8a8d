! Lab 01, a variant, a solution: each array is written in the order in which compute uses it.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  use omp_lib, only: omp_get_max_threads
  implicit none
  private
  public :: initialize

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i, k, of_b, of_c, piece

    piece = n / (@deal.pieces@ * omp_get_max_threads()) + 1
    !$omp parallel do private(i, of_b, of_c) @deal.fortran@
    do k = 1, n
       i = @order.fortran@
       of_b = @b.fortran@
       of_c = @c.fortran@
       a(i) = 0.0
       b(of_b) = real(mod(of_b - 1, 7_c_size_t), c_float)
       c(of_c) = 1.0
    end do
    !$omp end parallel do
  end subroutine initialize

end module first_touch
