! Lab 07, a variant, a solution.
module hybrid
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
  use mpi_f08, only: MPI_Allreduce, MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_IN_PLACE, &
       MPI_PROC_NULL, MPI_Sendrecv, MPI_STATUS_IGNORE, MPI_SUM
  implicit none
  private
  public :: initialize, exchange_halo, sweep, residual

contains

  ! Of a rank's rows in the field, from 0 on, and the rank that is at a place.
  pure integer function place_of(rank, ranks) result(place)
    integer, intent(in) :: rank, ranks

    place = @order.place_fortran@
  end function place_of

  pure integer function rank_at(place, ranks) result(rank)
    integer, intent(in) :: place, ranks

    rank = @order.rank_fortran@
  end function rank_at

  pure integer function neighbour_at(place, ranks) result(rank)
    integer, intent(in) :: place, ranks

    if (place >= 0 .and. place < ranks) then
       rank = rank_at(place, ranks)
    else
       rank = @border.beyond_fortran@
    end if
  end function neighbour_at

  ! The loop of sweep, so that each thread touches first what it uses; a halo row goes with
  ! the own row beside it.
  subroutine initialize(rows, columns, first_row, field, next) bind(c)
    integer(c_size_t), value :: rows, columns, first_row
    real(c_double), intent(out), dimension(columns, 0:rows+1) :: field, next
    integer(c_size_t) :: i, j

    !$omp parallel do schedule(static) private(j)
    do i = 1, rows
       if (i == 1) then
          field(:, 0) = 0
          next(:, 0) = 0
       end if
       field(1, i) = 0
       next(1, i) = 0
       do j = 2, columns - 1
          field(j, i) = real(mod(7 * (first_row + i - 1) + 3 * (j - 1), &
               11_c_size_t), c_double)
          next(j, i) = field(j, i)
       end do
       field(columns, i) = 0
       next(columns, i) = 0
       if (i == rows) then
          field(:, rows + 1) = 0
          next(:, rows + 1) = 0
       end if
    end do
    !$omp end parallel do
  end subroutine initialize

  ! What goes up comes from below, and the other way round.
  subroutine exchange_halo(rank, ranks, rows, columns, field) bind(c)
    integer(c_int), value :: rank, ranks
    integer(c_size_t), value :: rows, columns
    real(c_double), intent(inout) :: field(columns, 0:rows+1)
    integer :: place, above, below, count

    place = place_of(rank, ranks)
    above = neighbour_at(place - 1, ranks)
    below = neighbour_at(place + 1, ranks)
    count = int(columns)
    call MPI_Sendrecv(field(:, 1), count, MPI_DOUBLE_PRECISION, above, 0, &
         field(:, rows + 1), count, MPI_DOUBLE_PRECISION, below, 0, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(field(:, rows), count, MPI_DOUBLE_PRECISION, below, 1, &
         field(:, 0), count, MPI_DOUBLE_PRECISION, above, 1, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    @border.fortran@
  end subroutine exchange_halo

  subroutine sweep(rows, columns, field, next) bind(c)
    integer(c_size_t), value :: rows, columns
    real(c_double), intent(in) :: field(columns, 0:rows+1)
    real(c_double), intent(inout) :: next(columns, 0:rows+1)
    integer(c_size_t) :: i, j

    !$omp parallel do schedule(static) private(j)
    do i = 1, rows
       do j = 2, columns - 1
          next(j, i) = @point.fortran@
       end do
    end do
    !$omp end parallel do
  end subroutine sweep

  ! The threads' sums first, then the ranks'.
  function residual(rows, columns, field, next) result(total) bind(c)
    integer(c_size_t), value :: rows, columns
    real(c_double), intent(in), dimension(columns, 0:rows+1) :: field, next
    real(c_double) :: total
    integer(c_size_t) :: i, j

    total = 0
    !$omp parallel do schedule(static) private(j) reduction(+:total)
    do i = 1, rows
       do j = 2, columns - 1
          total = total + (next(j, i) - field(j, i))**2
       end do
    end do
    !$omp end parallel do
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function residual

end module hybrid
