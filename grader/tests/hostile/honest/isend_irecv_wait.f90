! Both ways without blocking, and waited for.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_int, c_int8_t, c_int64_t, c_ptr, &
       c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Irecv, MPI_Isend, MPI_Request, &
       MPI_STATUS_IGNORE, MPI_Wait
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
       if (rank == 0) then
          call send_message(message, partner)
          call receive_message(message, partner)
       else
          call receive_message(message, partner)
          call send_message(message, partner)
       end if
    end do
  end subroutine ping_pong

  subroutine send_message(message, partner)
    integer(c_int8_t), intent(in), contiguous :: message(:)
    integer, intent(in) :: partner
    type(MPI_Request) :: request

    call MPI_Isend(message, size(message), MPI_BYTE, partner, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine send_message

  subroutine receive_message(message, partner)
    integer(c_int8_t), intent(inout), contiguous :: message(:)
    integer, intent(in) :: partner
    type(MPI_Request) :: request

    call MPI_Irecv(message, size(message), MPI_BYTE, partner, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call add_one(message)
  end subroutine receive_message

  ! By transfer, since the buffer may start anywhere.
  subroutine add_one(message)
    integer(c_int8_t), intent(inout) :: message(:)
    integer(c_int64_t) :: word

    if (size(message) < 8) return
    word = transfer(message(1:8), word) + 1
    message(1:8) = transfer(word, message(1:8))
  end subroutine add_one

end module message_latency
