! Lab 09: what a port has moved. Edit this file; README.md says what to do.
!
! It compiles, and takes a counter for what it looks like.
module interconnect
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t, c_size_t
  implicit none
  private
  public :: moved, told

contains

  subroutine moved(n, width_bits, readings, bytes) bind(c)
    integer(c_size_t), value :: n
    integer(c_int64_t), value :: width_bits
    integer(c_int64_t), intent(in) :: readings(0:n)
    integer(c_int64_t), intent(out) :: bytes(0:n - 1)
    integer(c_size_t) :: i

    if (width_bits < 0) return ! that is all that is asked of it yet
    do i = 1, n
       bytes(i - 1) = readings(i) - readings(i - 1)
    end do
  end subroutine moved

  subroutine told(n, width_bits, sticks, most_bytes_per_ms, moments_ms, &
       readings, bytes, mean_bytes_per_s) bind(c)
    integer(c_size_t), value :: n
    integer(c_int64_t), value :: width_bits, sticks, most_bytes_per_ms
    integer(c_int64_t), intent(in) :: moments_ms(0:n), readings(0:n)
    integer(c_int64_t), intent(out) :: bytes(0:n - 1)
    real(c_double), intent(out) :: mean_bytes_per_s

    if (min(sticks, most_bytes_per_ms) < 0) return ! nor are these of any use
    call moved(n, width_bits, readings, bytes)
    mean_bytes_per_s = sum(real(bytes, c_double)) * 1000.0_c_double &
         / real(moments_ms(n) - moments_ms(0), c_double)
  end subroutine told

end module interconnect
