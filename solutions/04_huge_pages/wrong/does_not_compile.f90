! table is not declared.
module huge_pages
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_long, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: table_create, table_destroy

  integer(c_size_t), parameter :: page_bytes = 4096, huge_page_bytes = 2 * 1024**2
  integer(c_int), parameter :: prot_read = 1, prot_write = 2
  integer(c_int), parameter :: map_private = 2, map_anonymous = 32
  integer(c_intptr_t), parameter :: map_failed = -1
  integer(c_int), parameter :: madv_hugepage = 14

  interface
     type(c_ptr) function mmap(address, bytes, protection, flags, file, offset) bind(c)
       import :: c_int, c_long, c_ptr, c_size_t
       type(c_ptr), value :: address
       integer(c_size_t), value :: bytes
       integer(c_int), value :: protection, flags, file
       integer(c_long), value :: offset
     end function mmap

     integer(c_int) function munmap(address, bytes) bind(c)
       import :: c_int, c_intptr_t, c_size_t
       integer(c_intptr_t), value :: address
       integer(c_size_t), value :: bytes
     end function munmap

     integer(c_int) function madvise(address, bytes, advice) bind(c)
       import :: c_int, c_intptr_t, c_size_t
       integer(c_intptr_t), value :: address
       integer(c_size_t), value :: bytes
       integer(c_int), value :: advice
     end function madvise
  end interface

contains

  pure integer(c_size_t) function round_up(number, unit)
    integer(c_size_t), intent(in) :: number, unit

    round_up = (number + unit - 1) / unit * unit
  end function round_up

  ! Memory of so many bytes that begins at a multiple of 2 MiB; 0 when there is none.
  integer(c_intptr_t) function reserve_aligned(bytes)
    integer(c_size_t), intent(in) :: bytes
    integer(c_size_t) :: reserved_bytes, before, after
    integer(c_intptr_t) :: reserved
    integer(c_int) :: ignored

    reserved_bytes = bytes + huge_page_bytes
    reserved = transfer(mmap(c_null_ptr, reserved_bytes, ior(prot_read, prot_write), &
         ior(map_private, map_anonymous), -1_c_int, 0_c_long), reserved)
    reserve_aligned = 0
    if (reserved == map_failed) return
    reserve_aligned = round_up(reserved, huge_page_bytes)
    before = reserve_aligned - reserved
    after = reserved_bytes - before - bytes
    if (before > 0) ignored = munmap(reserved, before)
    if (after > 0) ignored = munmap(reserve_aligned + bytes, after)
  end function reserve_aligned

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes
    integer(c_size_t) :: table_bytes
    integer(c_int) :: ignored

    table_bytes = round_up(bytes, page_bytes)
    table = reserve_aligned(table_bytes)
    if (table /= 0) ignored = madvise(table, table_bytes, madv_hugepage)
    table_create = transfer(table, table_create)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes
    integer(c_int) :: ignored

    ignored = munmap(transfer(table, 0_c_intptr_t), round_up(bytes, page_bytes))
  end subroutine table_destroy

end module huge_pages
