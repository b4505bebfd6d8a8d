! As long as a line, and begun where allocate likes.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, c_loc, &
       c_ptr, c_size_t
  use omp_lib, only: omp_get_max_threads, omp_get_num_threads, &
       omp_get_thread_num
  implicit none
  private
  public :: count, slots

  integer, parameter :: last_key = 5
  integer(c_int64_t), allocatable, target :: counters(:, :)
  integer :: team = 0

contains

  subroutine count(n, keys, bins) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)
    integer(c_size_t) :: i
    integer :: own

    if (.not. allocated(counters)) &
         allocate(counters(0:7, 0:omp_get_max_threads() - 1))
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

    first = c_loc(counters(0, thread))
    length = merge(last_key + 1, 0, thread < team)
  end subroutine slots

end module false_sharing
