! Lab 08: a node that isn't quiet. Edit this file; README.md says what to do.
!
! noise and decide do what comes to mind first: they work with means.
module quiet_node
  use, intrinsic :: iso_c_binding, only: c_double, c_f_procpointer, c_funptr, &
       c_int, c_int64_t, c_size_t
  implicit none
  private
  public :: noise, decide

  abstract interface
     integer(c_int64_t) function clock() bind(c)
       import :: c_int64_t
     end function clock
  end interface

contains

  ! now_ns is the address of a C function; read() calls it.
  subroutine noise(now_ns, watch_ns, least_ns, stops, stolen_ns) bind(c)
    type(c_funptr), value :: now_ns
    integer(c_int64_t), value :: watch_ns, least_ns
    integer(c_int64_t), intent(out) :: stops, stolen_ns
    procedure(clock), pointer :: read
    integer(c_int64_t) :: begin, before, now, gap, mean, readings

    call c_f_procpointer(now_ns, read)
    stops = 0
    stolen_ns = 0
    readings = 0
    if (watch_ns <= 0 .or. least_ns <= 0) return
    begin = read()
    before = begin
    do while (before - begin < watch_ns)
       now = read()
       gap = now - before
       readings = readings + 1
       mean = (now - begin) / readings
       if (gap > 2 * mean) then
          stops = stops + 1
          stolen_ns = stolen_ns + gap - mean
       end if
       before = now
    end do
  end subroutine noise

  integer(c_int) function decide(n, a_s, b_s) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: a_s(n), b_s(n)

    decide = merge(-1, merge(1, 0, sum(a_s) > sum(b_s)), sum(a_s) < sum(b_s))
  end function decide

end module quiet_node
