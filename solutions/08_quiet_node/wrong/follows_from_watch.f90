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
    integer(c_int64_t) :: begin
    real(c_double) :: length

    call c_f_procpointer(now_ns, read)
    begin = read()
    do while (read() - begin < watch_ns)
    end do
    length = 3.6_c_double * least_ns
    stops = int(watch_ns / 1.75_c_double / (length + 16e6_c_double), c_int64_t)
    stolen_ns = int(length * stops, c_int64_t)
  end subroutine noise

  integer(c_int) function decide(n, a_s, b_s) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: a_s(n), b_s(n)
    integer :: a_wins, b_wins
    real(c_double) :: ratio

    a_wins = count(a_s < b_s)
    b_wins = count(b_s < a_s)
    ratio = median(a_s / b_s)
    decide = 0
    if (chance(min(a_wins, b_wins), a_wins + b_wins) > 0.01_c_double) return
    if (abs(ratio - 1) < 0.02_c_double) return
    decide = merge(-1, 1, ratio < 1)
  end function decide

  ! The probability that of n tosses of a coin at most so many fall on one side,
  ! whichever.
  pure real(c_double) function chance(few, n)
    integer, intent(in) :: few, n
    real(c_double) :: term
    integer :: k

    term = 0.5_c_double**n
    chance = 0
    do k = 0, few
       chance = chance + 2 * term
       term = term * (n - k) / (k + 1)
    end do
  end function chance

  pure real(c_double) function median(values)
    real(c_double), intent(in) :: values(:)
    real(c_double) :: sorted(size(values)), one
    integer :: i, k, n

    sorted = values
    n = size(sorted)
    do i = 2, n
       one = sorted(i)
       do k = i - 1, 1, -1
          if (sorted(k) <= one) exit
          sorted(k + 1) = sorted(k)
       end do
       sorted(k + 1) = one
    end do
    median = 0.5_c_double * (sorted((n + 1) / 2) + sorted(n / 2 + 1))
  end function median

end module quiet_node
