! Lab 09, a variant, a solution: the port counts @unit@ bytes, and items begin
! where the contract says.
!
! Fortran has no unsigned integers. Half a counter at a time, no difference
! overflows, and bge and bgt compare bits.
module interconnect
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int32_t, &
       c_int64_t, c_int8_t, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Recv, &
       MPI_Send, MPI_STATUS_IGNORE
  implicit none
  private
  public :: moved, told, deliver

  integer(c_size_t), parameter :: slot = 8, number_bytes = 8

  integer(c_int64_t), parameter :: word_bytes = @unit@, unknown = -1
  integer(c_int64_t), parameter :: low_half = int(z'ffffffff', c_int64_t)

contains

  subroutine moved(n, width_bits, readings, bytes) bind(c)
    integer(c_size_t), value :: n
    integer(c_int64_t), value :: width_bits
    integer(c_int64_t), intent(in) :: readings(0:n)
    integer(c_int64_t), intent(out) :: bytes(0:n - 1)

    bytes = word_bytes * words_between(readings(0:n - 1), readings(1:n), &
         width_bits)
  end subroutine moved

  subroutine told(n, width_bits, sticks, most_bytes_per_ms, moments_ms, &
       readings, bytes, mean_bytes_per_s) bind(c)
    integer(c_size_t), value :: n
    integer(c_int64_t), value :: width_bits, sticks, most_bytes_per_ms
    integer(c_int64_t), intent(in) :: moments_ms(0:n), readings(0:n)
    integer(c_int64_t), intent(out) :: bytes(0:n - 1)
    real(c_double), intent(out) :: mean_bytes_per_s
    integer(c_int64_t) :: words, took_ms, known_bytes, known_ms
    integer(c_size_t) :: i
    logical :: known

    known_bytes = 0
    known_ms = 0
    do i = 0, n - 1
       words = words_between(readings(i), readings(i + 1), width_bits)
       took_ms = moments_ms(i + 1) - moments_ms(i)
       if (sticks == 1) then
          known = has_only_counted(readings(i), readings(i + 1), width_bits)
       else
          known = is_only_meaning(words, &
               most_bytes_per_ms * took_ms / word_bytes, width_bits)
       end if
       if (known) then
          bytes(i) = word_bytes * words
          known_bytes = known_bytes + bytes(i)
          known_ms = known_ms + took_ms
       else
          bytes(i) = unknown
       end if
    end do
    mean_bytes_per_s = 0
    if (known_ms > 0) mean_bytes_per_s = 1000 * real(known_bytes, c_double) &
         / real(known_ms, c_double)
  end subroutine told

  ! Modulo 2^32 or 2^64.
  elemental integer(c_int64_t) function words_between(before, after, &
       width_bits) result(words)
    integer(c_int64_t), intent(in) :: before, after, width_bits
    integer(c_int64_t) :: low, high

    low = ibits(after, 0, 32) - ibits(before, 0, 32)
    high = ibits(after, 32, 32) - ibits(before, 32, 32)
    if (low < 0) high = high - 1 ! borrowed
    words = iand(low, low_half)
    if (width_bits == 64) words = ior(words, shiftl(high, 32))
  end function words_between

  ! All bits set.
  pure integer(c_int64_t) function largest(width_bits)
    integer(c_int64_t), intent(in) :: width_bits

    largest = merge(low_half, not(0_c_int64_t), width_bits == 32)
  end function largest

  ! Of a counter that stays at its largest value: whether it has only counted.
  pure logical function has_only_counted(before, after, width_bits)
    integer(c_int64_t), intent(in) :: before, after, width_bits

    has_only_counted = bge(after, before) .and. after /= largest(width_bits)
  end function has_only_counted

  ! Of one that goes around: whether it was not cleared, and too few words are
  ! left of what the link can carry for once more around.
  pure logical function is_only_meaning(words, most_words, width_bits)
    integer(c_int64_t), intent(in) :: words, most_words, width_bits

    is_only_meaning = ble(words, most_words)
    if (is_only_meaning) is_only_meaning = &
         ble(most_words - words, largest(width_bits))
  end function is_only_meaning

  ! Where item i has its numbers, i counted from 0 and places from 1.
  pure function places(i, length)
    integer(c_size_t), intent(in) :: i
    integer, intent(in) :: length
    integer :: places(length), k
    integer(c_size_t) :: first

    first = @lies.fortran@@moved.by@
    places = [(1 + int(mod(first + k, slot)), k = 0, length - 1)]
  end function places

  ! One message: all lengths, a byte each, and behind them the numbers that are
  ! in use, side by side.
  subroutine deliver(rank, partner, n, lengths, slots) bind(c)
    integer(c_int), value :: rank, partner
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(inout) :: lengths(n)
    integer(c_int64_t), intent(inout) :: slots(slot, n)
    integer(c_int8_t), allocatable :: content(:)
    integer(c_size_t) :: i, next, bytes

    allocate(content(n * (1 + slot * number_bytes)))
    if (rank == 0) then
       content(1:n) = int(lengths, c_int8_t)
       next = n
       do i = 1, n
          bytes = lengths(i) * number_bytes
          content(next + 1:next + bytes) = &
               transfer(slots(places(i - 1, int(lengths(i))), i), content)
          next = next + bytes
       end do
       call MPI_Send(content, int(next), MPI_BYTE, partner, 0, MPI_COMM_WORLD)
    else
       call MPI_Recv(content, size(content), MPI_BYTE, partner, 0, &
            MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       lengths = content(1:n)
       next = n
       do i = 1, n
          bytes = lengths(i) * number_bytes
          slots(places(i - 1, int(lengths(i))), i) = &
               transfer(content(next + 1:next + bytes), slots)
          next = next + bytes
       end do
    end if
  end subroutine deliver

end module interconnect
