! Wrong: The loop is not parallel: one thread writes, so no line is shared.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, &
       c_intptr_t, c_loc, c_ptr, c_size_t
  implicit none
  private
  public :: count, slots

  ! Eight counters are a line; six of them are used. Nothing in Fortran aligns an
  ! array, so there are eight more, and the first block begins at the first line.
  integer, parameter :: last_key = 5, max_threads = 1024, line = 8
  integer(c_int64_t), target :: room(0:line * (max_threads + 1) - 1)
  integer(c_int64_t), pointer, contiguous :: counters(:, :) => null()
  integer :: team = 0

contains

  subroutine count(n, keys, bins) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)

    if (.not. associated(counters)) call align()
    team = 1
    call count_part(n, keys, counters(0:last_key, 0))
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
    do i = 1, n
       own(keys(i)) = own(keys(i)) + 1
    end do
  end subroutine count_part

  subroutine align()
    integer(c_intptr_t) :: past, skipped

    past = mod(transfer(c_loc(room), 0_c_intptr_t) / 8, int(line, c_intptr_t))
    skipped = mod(line - past, int(line, c_intptr_t))
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
