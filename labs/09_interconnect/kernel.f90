! Lab 09: what a port has moved, and what is put on a link. Edit this file;
! README.md says what to do.
!
! It compiles, takes a counter for what it looks like, and sends each item by
! itself.
module interconnect
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int32_t, &
       c_int64_t, c_size_t
  use mpi_f08, only: MPI_COMM_WORLD, MPI_Get_count, MPI_INTEGER8, MPI_Recv, &
       MPI_Send, MPI_Status
  implicit none
  private
  public :: moved, told, deliver

  integer, parameter :: slot = 8

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

  subroutine deliver(rank, partner, n, lengths, slots) bind(c)
    integer(c_int), value :: rank, partner
    integer(c_size_t), value :: n
    integer(c_int32_t), intent(inout) :: lengths(n)
    integer(c_int64_t), intent(inout) :: slots(slot, n)
    type(MPI_Status) :: status
    integer(c_size_t) :: i
    integer :: length

    do i = 1, n
       if (rank == 0) then
          call MPI_Send(slots(:, i), int(lengths(i)), MPI_INTEGER8, partner, &
               0, MPI_COMM_WORLD)
       else
          call MPI_Recv(slots(:, i), slot, MPI_INTEGER8, partner, 0, &
               MPI_COMM_WORLD, status)
          call MPI_Get_count(status, MPI_INTEGER8, length)
          lengths(i) = length
       end if
    end do
  end subroutine deliver

end module interconnect
