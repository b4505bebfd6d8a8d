! Each thread's block is a task that the thread itself runs at once, and the places of the team are
! asked for in other words in each function.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: initialize, compute

contains

  integer(c_size_t) function bound(n, part)
    integer(c_size_t), intent(in) :: n
    integer, intent(in) :: part
    bound = n * part / omp_get_num_threads()
  end function bound

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i, first, last

    !$omp parallel private(i, first, last) proc_bind(spread)
    first = bound(n, omp_get_thread_num()) + 1
    last = bound(n, omp_get_thread_num() + 1)
    !$omp task if(.false.) firstprivate(first, last) private(i) shared(a, b, c)
    do i = first, last
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
    !$omp end task
    !$omp end parallel
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i, first, last

    !$omp parallel private(i, first, last) proc_bind(close)
    first = bound(n, omp_get_thread_num()) + 1
    last = bound(n, omp_get_thread_num() + 1)
    !$omp task if(.false.) firstprivate(first, last) private(i) shared(a, b, c)
    do i = first, last
       a(i) = a(i) + b(i) * c(i)
    end do
    !$omp end task
    !$omp end parallel
  end subroutine compute

end module first_touch
