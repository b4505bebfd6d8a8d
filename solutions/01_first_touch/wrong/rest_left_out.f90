! Wrong: n is divided evenly among the threads.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: initialize, compute

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i, share, first

    !$omp parallel private(i, share, first)
    share = n / omp_get_num_threads()
    first = share * omp_get_thread_num() + 1
    do i = first, first + share - 1
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
    !$omp end parallel
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i, share, first

    !$omp parallel private(i, share, first)
    share = n / omp_get_num_threads()
    first = share * omp_get_thread_num() + 1
    do i = first, first + share - 1
       a(i) = a(i) + b(i) * c(i)
    end do
    !$omp end parallel
  end subroutine compute

end module first_touch
