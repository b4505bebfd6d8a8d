! Lab 06, a variant, a solution.
module message_pattern
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_size_t
  use mpi_f08, only: MPI_BYTE, MPI_COMM_WORLD, MPI_Comm_rank, MPI_Recv, MPI_Send, &
       MPI_Sendrecv_replace, MPI_STATUS_IGNORE
  implicit none
  private
  public :: relay

  integer, parameter :: added = @added@

contains

  subroutine relay(rank, ranks, buffer, bytes, repetitions) bind(c)
    integer(c_int), value :: rank
    integer(c_int), value :: ranks
    integer(c_size_t), value :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)
    integer(c_int), value :: repetitions
    integer :: i

    do i = 1, repetitions
       @pattern.fortran@
    end do
  end subroutine relay

  ! Gives the buffer to one rank and takes that of another.
  subroutine swap(to, from, bytes, buffer)
    integer, intent(in) :: to, from
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)
    integer :: rank

    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    if (to == rank) return
    call MPI_Sendrecv_replace(buffer, int(bytes), MPI_BYTE, to, 0, from, 0, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call add(bytes, buffer)
  end subroutine swap

  ! place: in the chain, which begins with 0.
  subroutine pass_along(rank, ranks, place, bytes, buffer)
    integer, intent(in) :: rank, ranks, place
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)
    integer :: step ! to the next one's rank

    step = merge(1, -1, place == rank)
    if (place > 0) call take(rank - step, bytes, buffer)
    if (place < ranks - 1) then
       call give(rank + step, bytes, buffer)
       call take(rank + step, bytes, buffer)
    end if
    if (place > 0) call give(rank - step, bytes, buffer)
  end subroutine pass_along

  subroutine give(to, bytes, buffer)
    integer, intent(in) :: to
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(in) :: buffer(bytes)

    call MPI_Send(buffer, int(bytes), MPI_BYTE, to, 0, MPI_COMM_WORLD)
  end subroutine give

  subroutine take(from, bytes, buffer)
    integer, intent(in) :: from
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: buffer(bytes)

    call MPI_Recv(buffer, int(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call add(bytes, buffer)
  end subroutine take

  ! By transfer, since the buffer may start anywhere.
  subroutine add(bytes, text)
    integer(c_size_t), intent(in) :: bytes
    integer(c_int8_t), intent(inout) :: text(bytes)
    integer(c_int64_t) :: word

    if (bytes < 8) return
    word = transfer(text(1:8), word) + added
    text(1:8) = transfer(word, text(1:8))
  end subroutine add

end module message_pattern
