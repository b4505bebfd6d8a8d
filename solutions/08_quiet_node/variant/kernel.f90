! Lab 08, a variant, a solution.
!
! The shortest gap is what a reading takes; a sign test says whether one program
! takes longer by more than what is not worth a word.
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
    logical :: is_stop, was_stop

    call c_f_procpointer(now_ns, read)
    stops = 0
    stolen_ns = 0
    was_stop = .false.
    shortest = huge(shortest)
    begin = read()
    before = begin
    do while (before - begin < watch_ns)
       now = read()
       gap = now - before
       shortest = min(shortest, gap)
       is_stop = gap - shortest >= least_ns
       if (@stops.fortran@) stops = stops + 1
       if (is_stop) stolen_ns = stolen_ns + gap - shortest
       was_stop = is_stop
       before = now
    end do
  end subroutine noise

  integer(c_int) function decide(n, a_s, b_s) bind(c)
    integer(c_size_t), value :: n
    real(c_double), intent(in) :: a_s(n), b_s(n)

    decide = 0
    if (is_longer(a_s, (1 + @other.share@_c_double) * b_s)) decide = 1
    if (is_longer(b_s, (1 + @worth.share@_c_double) * a_s)) decide = -1
  end function decide

  ! Whether a program takes longer than other times.
  pure logical function is_longer(own_s, least_s)
    real(c_double), intent(in) :: own_s(:), least_s(:)
    integer :: wins, losses

    wins = count(own_s > least_s)
    losses = count(own_s < least_s)
    is_longer = wins > losses
    if (is_longer) is_longer = median(own_s / least_s) >= 1.02_c_double .and. &
         chance(losses, wins + losses) <= 0.01_c_double
  end function is_longer

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
