! Lab 10: false sharing. The solution.
!
! Each block of counters begins at a line of its own, and fills it, whatever the
! length of a line is on the machine that it runs on.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, &
       c_intptr_t, c_loc, c_ptr, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: count, slots

  ! Of a line of counters six are used. Nothing in Fortran aligns an array, so
  ! there is room for a line more, and the first block begins at the first line.
  ! longest_line: of any processor, in counters.
  integer, parameter :: last_key = 5, max_threads = 1024, longest_line = 32
  integer(c_int64_t), target :: room(0:longest_line * (max_threads + 1) - 1)
  integer(c_int64_t), pointer, contiguous :: counters(:, :) => null()
  integer :: team = 0

  interface
     integer(c_size_t) function cache_line_bytes() bind(c)
       import :: c_size_t
     end function cache_line_bytes
  end interface

contains

  subroutine count(n, keys, bins) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)

    if (.not. associated(counters)) call align()
    !$omp parallel
    !$omp single
    team = omp_get_num_threads()
    !$omp end single
    call count_part(n, keys, counters(0:last_key, omp_get_thread_num()))
    !$omp end parallel
    bins = sum(counters(0:last_key, 0:team - 1), dim=2)
  end subroutine count

  ! Of an argument the compiler knows that nothing else points to it, and keeps
  ! its address at hand.
  subroutine count_part(n, keys, own)
    integer(c_size_t), intent(in) :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: own(0:last_key)
    integer(c_size_t) :: i

    own = 0
    !$omp do schedule(static)
    do i = 1, n
       own(keys(i)) = own(keys(i)) + 1
    end do
    !$omp end do
  end subroutine count_part

  subroutine align()
    integer(c_intptr_t) :: line, past, skipped

    line = cache_line_bytes() / 8
    past = mod(transfer(c_loc(room), 0_c_intptr_t) / 8, line)
    skipped = mod(line - past, line)
    counters(0:line - 1, 0:max_threads - 1) => &
         room(skipped:skipped + line * max_threads - 1)
  end subroutine align

  subroutine slots(thread, first, length) bind(c)
    integer(c_int), value :: thread
    type(c_ptr), intent(out) :: first
    integer(c_size_t), intent(out) :: length

    first = c_loc(counters(0, thread))
    length = merge(last_key + 1, 0, thread < team)
  end subroutine slots

end module false_sharing
