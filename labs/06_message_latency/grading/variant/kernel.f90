! Lab 06, a variant: messages among several ranks. Edit relay here; README.md says what to do.
!
! Rank 0 sends to all others, nothing comes back, and nobody adds anything.
module message_pattern
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Recv, MPI_Send, &
       MPI_STATUS_IGNORE
  implicit none
  private
  public :: relay

contains

  subroutine relay(rank, ranks, buffer, bytes, repetitions) bind(c)
    integer(c_int), value :: rank
    integer(c_int), value :: ranks
    integer(c_size_t), value :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)
    integer(c_int), value :: repetitions
    integer :: i, other

    do i = 1, repetitions
       if (rank > 0) then
          call MPI_Recv(buffer, int(bytes), MPI_BYTE, 0, 0, MPI_COMM_WORLD, &
               MPI_STATUS_IGNORE)
          cycle
       end if
       do other = 1, ranks - 1
          call MPI_Send(buffer, int(bytes), MPI_BYTE, other, 0, MPI_COMM_WORLD)
       end do
    end do
  end subroutine relay

end module message_pattern
