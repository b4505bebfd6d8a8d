! Lab 07, a variant: hybrid MPI and OpenMP. Edit this file and launch.toml;
! README.md says what to do.
!
! Nothing goes from rank to rank yet, and sweep is that of the lab.
module hybrid
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_size_t
  implicit none
  private
  public :: initialize, exchange_halo, sweep, residual

contains

  subroutine initialize(rows, columns, first_row, field, next) bind(c)
    integer(c_size_t), value :: rows, columns, first_row
    real(c_double), intent(out), dimension(columns, 0:rows+1) :: field, next
    integer(c_size_t) :: i, j

    field = 0
    next = 0
    do i = 1, rows
       do j = 2, columns - 1
          field(j, i) = real(mod(7 * (first_row + i - 1) + 3 * (j - 1), &
               11_c_size_t), c_double)
          next(j, i) = field(j, i)
       end do
    end do
  end subroutine initialize

  ! As long as nothing is sent, a rank takes its own outer row for its
  ! neighbour's.
  subroutine exchange_halo(rank, ranks, rows, columns, field) bind(c)
    integer(c_int), value :: rank, ranks
    integer(c_size_t), value :: rows, columns
    real(c_double), intent(inout) :: field(columns, 0:rows+1)

    if (rank > 0) field(:, 0) = field(:, 1)
    if (rank < ranks - 1) field(:, rows + 1) = field(:, rows)
  end subroutine exchange_halo

  ! That of the lab, with four equal neighbours.
  subroutine sweep(rows, columns, field, next) bind(c)
    integer(c_size_t), value :: rows, columns
    real(c_double), intent(in) :: field(columns, 0:rows+1)
    real(c_double), intent(inout) :: next(columns, 0:rows+1)
    integer(c_size_t) :: i, j

    !$omp parallel do schedule(static) private(j)
    do i = 1, rows
       do j = 2, columns - 1
          next(j, i) = 0.25_c_double &
               * (((field(j, i - 1) + field(j, i + 1)) + field(j - 1, i)) &
               + field(j + 1, i))
       end do
    end do
    !$omp end parallel do
  end subroutine sweep

  ! The sum over the own rows only.
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
  end function residual

end module hybrid
