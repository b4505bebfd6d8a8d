! Nothing hostile: whole arrays, the counters of each thread in a line of its own.
module false_sharing
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t, &
       c_intptr_t, c_loc, c_ptr, c_size_t
  use omp_lib, only: omp_get_num_threads, omp_get_thread_num
  implicit none
  private
  public :: count, slots

  ! Eight counters are a line; six of them are used. Nothing in Fortran aligns an
  ! array, so there are eight more, and the first block begins at the first line.
  integer, parameter :: last_key = 5, max_threads = 1024, line = 8
  integer(c_int64_t), target :: room(0:line * (max_threads + 1) - 1)
  integer(c_int64_t), pointer, contiguous :: counters(:, :) => null()
  integer(c_int64_t), parameter :: one(0:last_key, 0:last_key) = reshape( &
       [1, 0, 0, 0, 0, 0,  0, 1, 0, 0, 0, 0,  0, 0, 1, 0, 0, 0, &
       0, 0, 0, 1, 0, 0,  0, 0, 0, 0, 1, 0,  0, 0, 0, 0, 0, 1], [last_key + 1, last_key + 1])
  integer :: team = 0

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

  subroutine count_part(n, keys, own)
    integer(c_size_t), intent(in) :: n
    integer(c_int32_t), intent(in) :: keys(n)
    integer(c_int64_t), intent(out) :: own(0:last_key)
    integer(c_int64_t) :: next(0:last_key)
    integer(c_size_t) :: i

    own = 0
    next = 0
    !$omp do schedule(static)
    do i = 1, n
       next = next + one(:, keys(i))
       call keep(own, next)
    end do
    !$omp end do
  end subroutine count_part

  subroutine keep(all, own)
    integer(c_int64_t), intent(out) :: all(0:last_key)
    integer(c_int64_t), intent(in) :: own(0:last_key)

    all = own
  end subroutine keep

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
