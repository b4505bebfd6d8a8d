! Lab 10, a variant, a solution: blocks begin at lines, behind the one in which
! room begins.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, &
       c_intptr_t, c_loc, c_null_ptr, c_ptr, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: count, slots

  integer, parameter :: last_key = @keys.last@
  type(c_ptr) :: begins(0:1023) = c_null_ptr
  integer :: first_block, apart, team = 0

  interface
     integer(c_size_t) function cache_line_bytes() bind(c)
       import :: c_size_t
     end function cache_line_bytes
  end interface

contains

  subroutine count(n, keys, bins, room) bind(c)
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: bins(0:last_key)
    integer(c_int64_t), intent(inout), target :: room(0:*)
    integer(c_size_t) :: i
    integer :: begin, thread

    call lay_out(room)
    !$omp parallel private(begin)
    begin = first_block + apart * omp_get_thread_num()
    begins(omp_get_thread_num()) = c_loc(room(begin))
    room(begin:begin + last_key) = 0
    !$omp single
    team = omp_get_num_threads()
    !$omp end single
    !$omp do schedule(static)
    do i = 1, n
       room(begin + keys(i)) = room(begin + keys(i)) + 1
    end do
    !$omp end do
    !$omp end parallel
    bins = 0
    do thread = 0, team - 1
       begin = first_block + apart * thread
       bins = bins + room(begin:begin + last_key)
    end do
  end subroutine count

  ! In counters: where the first line begins in room, and whole lines for a block.
  subroutine lay_out(room)
    integer(c_int64_t), intent(in), target :: room(0:*)
    integer(c_intptr_t) :: line, past

    line = cache_line_bytes() / 8
    past = mod(transfer(c_loc(room), 0_c_intptr_t) / 8, line)
    first_block = int(mod(line - past, line))
    apart = int((last_key + line) / line * line)
  end subroutine lay_out

  subroutine slots(thread, first, length) bind(c)
    integer(c_int), value :: thread
    type(c_ptr), intent(out) :: first
    integer(c_size_t), intent(out) :: length

    first = begins(thread)
    length = merge(last_key + 1, 0, thread < team)
  end subroutine slots

end module false_sharing
