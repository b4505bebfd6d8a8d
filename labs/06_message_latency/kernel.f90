! Lab 06: message latency. Edit ping_pong here, and near.toml, far.toml and
! predict.toml beside; README.md says what to do.
!
! The messages go one way, nothing comes back, and nobody adds 1.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Recv, MPI_Send, &
       MPI_STATUS_IGNORE
  implicit none
  private
  public :: ping_pong

contains

  subroutine ping_pong(rank, partner, buffer, bytes, repetitions) bind(c)
    integer(c_int), value :: rank, partner
    integer(c_size_t), value :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)
    integer(c_int), value :: repetitions
    integer :: i

    do i = 1, repetitions
       if (rank == 0) then
          call MPI_Send(buffer, int(bytes), MPI_BYTE, partner, 0, &
               MPI_COMM_WORLD)
       else
          call MPI_Recv(buffer, int(bytes), MPI_BYTE, partner, 0, &
               MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       end if
    end do
  end subroutine ping_pong

end module message_latency
