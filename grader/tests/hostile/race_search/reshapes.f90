! The mistake of somebody who reshapes into a matrix that all threads share.
module scheduling
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  implicit none
  private
  public :: pair_energy, stream_update
  integer, parameter :: kept = 8
  real(c_double), save :: last(kept, kept)

contains

  subroutine pair_energy(n, x, y, z, e) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: x(n), y(n), z(n)
    real(c_double), intent(out) :: e(n)
    real(c_double) :: energy
    integer(c_size_t) :: i, j

    !$omp parallel do schedule(guided) private(j, energy)
    do i = 1, n
       energy = 0
       do j = 1, i - 1
          energy = energy + 1 / sqrt((x(i) - x(j))**2 + (y(i) - y(j))**2 &
               + (z(i) - z(j))**2 + 1e-6_c_double)
       end do
       e(i) = energy
    end do
    !$omp end parallel do
  end subroutine pair_energy

  subroutine stream_update(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(out) :: a(n)
    real(c_double), intent(in) :: b(n), c(n)
    real(c_double) :: own(kept, kept)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static) private(own)
    do i = 1, n
       a(i) = b(i) + 3 * c(i)
       own = a(i)
       call keep(last, own)
    end do
    !$omp end parallel do
  end subroutine stream_update

  subroutine keep(all, own)
    real(c_double), intent(out) :: all(:, :)
    real(c_double), intent(in) :: own(:, :)

    all = reshape(own, [kept, kept], order=[2, 1])
  end subroutine keep

end module scheduling
