! No further memory for the next arrays.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_int, c_int64_t, c_size_t
  implicit none
  private
  public :: initialize, compute

  interface
     integer(c_int) function setrlimit(resource, limits) bind(c)
       import :: c_int, c_int64_t
       integer(c_int), value :: resource
       integer(c_int64_t), intent(in) :: limits(2)
     end function setrlimit
  end interface

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i

    do i = 1, n
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_int), parameter :: rlimit_as = 9
    integer(c_int) :: ignored

    a = a + b * c
    ignored = setrlimit(rlimit_as, [2_c_int64_t**20, 2_c_int64_t**20])
  end subroutine compute

end module first_touch
