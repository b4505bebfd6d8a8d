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

  subroutine noise(now_ns, watch_ns, least_ns, stops, stolen_ns) bind(c)
    type(c_funptr), value :: now_ns
    integer(c_int64_t), value :: watch_ns, least_ns
    integer(c_int64_t), intent(out) :: stops, stolen_ns
    procedure(clock), pointer :: read
    integer(c_int64_t) :: begin, before, now, gap, shortest

    call c_f_procpointer(now_ns, read)
    stops = 0
    stolen_ns = 0
    shortest = huge(shortest)
    begin = read()
    before = begin
    do while (before - begin < watch_ns)
       now = read()
       gap = now - before
       shortest = min(shortest, gap)
       if (gap - shortest >= least_ns) then
          stops = stops + 1
          stolen_ns = stolen_ns + gap - shortest
       end if
       before = now
    end do
  end subroutine noise

  integer(c_int) function decide(n, a_s, b_s) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: a_s(n), b_s(n)

    decide = 0
    if (sum(a_s) < 0.95_c_double * sum(b_s)) decide = -1
    if (sum(b_s) < 0.95_c_double * sum(a_s)) decide = 1
  end function decide

end module quiet_node
