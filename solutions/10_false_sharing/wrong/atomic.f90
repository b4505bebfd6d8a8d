! One array for all threads, and atomic updates.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_loc, &
       c_ptr, c_size_t
  implicit none
  private
  public :: count, slots

  integer, parameter :: last_key = 5, max_threads = 1024
  integer(c_int64_t), target :: counters(0:last_key)
  integer :: team = 0

contains

  subroutine count(n, keys, bins) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)
    integer(c_size_t) :: i

    counters = 0
    team = 1
    !$omp parallel do schedule(static)
    do i = 1, n
       !$omp atomic
       counters(keys(i)) = counters(keys(i)) + 1
    end do
    !$omp end parallel do
    bins = counters
  end subroutine count

  subroutine slots(thread, first, length) bind(c)
    integer(c_int), value :: thread
    type(c_ptr), intent(out) :: first
    integer(c_size_t), intent(out) :: length

    first = c_loc(counters(0))
    length = merge(last_key + 1, 0, thread < team)
  end subroutine slots

end module false_sharing
