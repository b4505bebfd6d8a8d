! Lab 06: message latency, a solution; README.md beside it says why it works.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_size_t
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
          call send_message(bytes, buffer, partner)
          call receive_message(bytes, buffer, partner)
       else
          call receive_message(bytes, buffer, partner)
          call send_message(bytes, buffer, partner)
       end if
    end do
  end subroutine ping_pong

  subroutine send_message(bytes, message, partner)
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(in) :: message(bytes)
    integer, intent(in) :: partner

    call MPI_Send(message, int(bytes), MPI_BYTE, partner, 0, MPI_COMM_WORLD)
  end subroutine send_message

  subroutine receive_message(bytes, message, partner)
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: message(bytes)
    integer, intent(in) :: partner

    call MPI_Recv(message, int(bytes), MPI_BYTE, partner, 0, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE)
    call add_one(bytes, message)
  end subroutine receive_message

  ! By transfer, since the buffer may start anywhere.
  subroutine add_one(bytes, message)
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: message(bytes)
    integer(c_int64_t) :: word

    if (bytes < 8) return
    word = transfer(message(1:8), word) + 1
    message(1:8) = transfer(word, message(1:8))
  end subroutine add_one

end module message_latency
