! Wrong: both ranks exchange their buffers with MPI_Sendrecv_replace, so
! rank 1 sends before it has received.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int8_t, c_int64_t, c_ptr, &
       c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Sendrecv_replace, MPI_STATUS_IGNORE
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
    integer :: i

    call c_f_pointer(buffer, message, [bytes])
    do i = 1, repetitions
       call MPI_Sendrecv_replace(message, size(message), MPI_BYTE, partner, 0, partner, 0, &
            MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       call add_one(message)
    end do
  end subroutine ping_pong

  ! By transfer, since the buffer may start anywhere.
  subroutine add_one(message)
    integer(c_int8_t), intent(inout) :: message(:)
    integer(c_int64_t) :: word

    if (size(message) < 8) return
    word = transfer(message(1:8), word) + 1
    message(1:8) = transfer(word, message(1:8))
  end subroutine add_one

end module message_latency
