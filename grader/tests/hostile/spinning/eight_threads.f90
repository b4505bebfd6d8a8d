! The handout's static schedule, on more threads than there are cores.
subroutine pair_energy(n, x, y, z, e) bind(c)
  use, intrinsic :: iso_c_binding, only: c_size_t, c_double
  implicit none
  integer(c_size_t), value :: n
  real(c_double), intent(in) :: x(n), y(n), z(n)
  real(c_double), intent(out) :: e(n)
  integer(c_size_t) :: i, j
  real(c_double) :: energy

  !$omp parallel do schedule(static) num_threads(8) private(j, energy)
  do i = 1, n
    energy = 0.0_c_double
    do j = 1, i - 1
      energy = energy + 1.0_c_double / sqrt((x(i) - x(j))**2 + (y(i) - y(j))**2 &
        + (z(i) - z(j))**2 + 1e-6_c_double)
    end do
    e(i) = energy
  end do
end subroutine pair_energy

subroutine stream_update(n, a, b, c) bind(c)
  use, intrinsic :: iso_c_binding, only: c_size_t, c_double
  implicit none
  integer(c_size_t), value :: n
  real(c_double), intent(out) :: a(n)
  real(c_double), intent(in) :: b(n), c(n)
  integer(c_size_t) :: i

  !$omp parallel do schedule(static)
  do i = 1, n
    a(i) = b(i) + 3.0_c_double * c(i)
  end do
end subroutine stream_update
