! Lab 03: scheduling, a solution; README.md beside it says why it works.
module scheduling
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  implicit none
  private
  public :: pair_energy, stream_update

contains

  subroutine pair_energy(n, x, y, z, e) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: x(n), y(n), z(n)
    real(c_double), intent(out) :: e(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(guided)
    do i = 1, n
       block ! each thread's own, without a clause to forget
         real(c_double) :: dx, dy, dz, energy
         integer(c_size_t) :: j

         energy = 0
         do j = 1, i - 1
            dx = x(i) - x(j)
            dy = y(i) - y(j)
            dz = z(i) - z(j)
            energy = energy + 1 / sqrt(dx**2 + dy**2 + dz**2 + 1e-6_c_double)
         end do
         e(i) = energy
       end block
    end do
    !$omp end parallel do
  end subroutine pair_energy

  subroutine stream_update(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(out) :: a(n)
    real(c_double), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = b(i) + 3 * c(i)
    end do
    !$omp end parallel do
  end subroutine stream_update

end module scheduling
