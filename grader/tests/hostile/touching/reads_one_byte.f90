! Each thread reads a value of each of its pages, then one thread computes alone.
subroutine initialize(n, a, b, c) bind(c)
  use, intrinsic :: iso_c_binding, only: c_size_t, c_float
  implicit none
  integer(c_size_t), value :: n
  real(c_float), intent(out) :: a(n), b(n), c(n)
  integer(c_size_t) :: i

  !$omp parallel do schedule(static)
  do i = 1, n
    a(i) = 0.0
    b(i) = real(mod(i - 1, 7_c_size_t), c_float)
    c(i) = 1.0
  end do
end subroutine initialize

subroutine compute(n, a, b, c) bind(c)
  use, intrinsic :: iso_c_binding, only: c_size_t, c_float
  implicit none
  integer(c_size_t), value :: n
  real(c_float), intent(inout) :: a(n)
  real(c_float), intent(in) :: b(n), c(n)
  real(c_float) :: seen
  integer(c_size_t) :: i

  seen = 0.0
  !$omp parallel do schedule(static) reduction(+:seen)
  do i = 1, n / 1024
    seen = seen + a(1024 * i - 1023) + b(1024 * i - 1023) + c(1024 * i - 1023)
  end do
  a = a + b * c
  if (seen < 0.0) a(1) = seen
end subroutine compute
