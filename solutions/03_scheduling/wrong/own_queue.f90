! Wrong: a queue of one's own: reading the next row and moving it on are two steps, and
! volatile does not make them one. Two threads that meet there leave rows out: with two
! threads and n = 2000 in 9 of 20,000 calls.
module scheduling
  use, intrinsic :: iso_c_binding, only: c_double, c_size_t
  use omp_lib, only: omp_get_max_threads, omp_get_thread_num
  implicit none
  private
  public :: pair_energy, stream_update
  integer(c_size_t), parameter :: chunk = 64
  integer(c_size_t), volatile :: next

contains

  subroutine pair_energy(n, x, y, z, e) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: x(n), y(n), z(n)
    real(c_double), intent(out) :: e(n)
    real(c_double) :: dx, dy, dz, energy
    integer(c_size_t) :: first, i, j

    next = 1 + omp_get_max_threads() * chunk
    !$omp parallel private(first, i, j, dx, dy, dz, energy)
    first = 1 + omp_get_thread_num() * chunk
    do while (first <= n)
       do i = first, min(n, first + chunk - 1)
          energy = 0
          do j = 1, i - 1
             dx = x(i) - x(j)
             dy = y(i) - y(j)
             dz = z(i) - z(j)
             energy = energy + 1 / sqrt(dx**2 + dy**2 + dz**2 + 1e-6_c_double)
          end do
          e(i) = energy
       end do
       first = next
       next = next + chunk
    end do
    !$omp end parallel
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
