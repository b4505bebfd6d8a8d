! On the stack of a call that is over when slots is asked.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_loc, &
       c_ptr, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: count, slots

  integer, parameter :: last_key = 5, max_threads = 1024
  integer(c_int64_t), pointer :: kept(:, :) => null()
  integer :: team = 0

contains

  subroutine count(n, keys, bins) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)
    integer(c_int64_t), target :: counters(0:7, 0:max_threads - 1)
    integer(c_size_t) :: i
    integer :: own

    kept(0:, 0:) => counters

    !$omp parallel private(own)
    own = omp_get_thread_num()
    counters(:, own) = 0
    !$omp single
    team = omp_get_num_threads()
    !$omp end single
    !$omp do schedule(static)
    do i = 1, n
       counters(keys(i), own) = counters(keys(i), own) + 1
    end do
    !$omp end do
    !$omp end parallel
    bins = sum(counters(0:last_key, 0:team - 1), dim=2)
  end subroutine count

  subroutine slots(thread, first, length) bind(c)
    integer(c_int), value :: thread
    type(c_ptr), intent(out) :: first
    integer(c_size_t), intent(out) :: length

    first = c_loc(kept(0, thread))
    length = merge(last_key + 1, 0, thread < team)
  end subroutine slots

end module false_sharing
