! Wrong: libnuma deals the pages out to all NUMA nodes in turn, whoever writes them.
module first_touch
  use, intrinsic :: iso_c_binding, only: c_float, c_ptr, c_size_t
  implicit none
  private
  public :: initialize, compute

  interface
     function numa_get_mems_allowed() result(nodes) bind(c)
       import :: c_ptr
       type(c_ptr) :: nodes
     end function numa_get_mems_allowed

     subroutine numa_set_interleave_mask(nodes) bind(c)
       import :: c_ptr
       type(c_ptr), value :: nodes
     end subroutine numa_set_interleave_mask
  end interface

contains

  subroutine initialize(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(out) :: a(n), b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel
    call numa_set_interleave_mask(numa_get_mems_allowed())
    !$omp do schedule(static)
    do i = 1, n
       a(i) = 0.0
       b(i) = real(mod(i - 1, 7_c_size_t), c_float)
       c(i) = 1.0
    end do
    !$omp end do
    !$omp end parallel
  end subroutine initialize

  subroutine compute(n, a, b, c) bind(c)
    integer(c_size_t), value :: n
    real(c_float), intent(inout) :: a(n)
    real(c_float), intent(in) :: b(n), c(n)
    integer(c_size_t) :: i

    !$omp parallel do schedule(static)
    do i = 1, n
       a(i) = a(i) + b(i) * c(i)
    end do
    !$omp end parallel do
  end subroutine compute

end module first_touch
