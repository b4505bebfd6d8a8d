! Knows by a variable that sends wait; else both ranks say first that they are ready.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int8_t, c_int64_t, c_ptr, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Recv, MPI_Send, MPI_STATUS_IGNORE
  implicit none
  private
  public :: ping_pong

contains

  subroutine ping_pong(rank, partner, buffer, bytes, repetitions) bind(c)
    integer(c_int), value :: rank, partner
    type(c_ptr), value :: buffer
    integer(c_size_t), value :: bytes
    integer(c_int), value :: repetitions
    integer(c_int8_t), pointer, contiguous :: message(:)
    integer(c_int8_t) :: ready(1)
    integer(c_int64_t) :: word
    integer :: i, missing

    call c_f_pointer(buffer, message, [bytes])
    call get_environment_variable("NUMALAB_SYNCHRONOUS_SENDS", status=missing)
    if (missing /= 0) then
       ready = 1
       call MPI_Send(ready, 1, MPI_BYTE, partner, 1, MPI_COMM_WORLD)
       call MPI_Recv(ready, 1, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    end if
    do i = 1, repetitions
       if (rank == 0) call MPI_Send(message, size(message), MPI_BYTE, partner, 0, MPI_COMM_WORLD)
       call MPI_Recv(message, size(message), MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       if (size(message) >= 8) then
          word = transfer(message(1:8), word) + 1
          message(1:8) = transfer(word, message(1:8))
       end if
       if (rank /= 0) call MPI_Send(message, size(message), MPI_BYTE, partner, 0, MPI_COMM_WORLD)
    end do
  end subroutine ping_pong

end module message_latency
