! Reserves twice the addresses, to be able to align, and unmaps the table only.
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

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes
    integer(c_size_t) :: table_bytes
    integer(c_intptr_t) :: reserved, table
    integer(c_int) :: ignored

    table_bytes = round_up(bytes, page_bytes)
    reserved = transfer(mmap(c_null_ptr, 2 * table_bytes + huge_page_bytes, &
         ior(prot_read, prot_write), ior(map_private, map_anonymous), -1_c_int, 0_c_long), &
         reserved)
    table_create = c_null_ptr
    if (reserved == map_failed) return
    table = round_up(reserved, huge_page_bytes)
    ignored = madvise(table, table_bytes, madv_hugepage)
    table_create = transfer(table, table_create)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes
    integer(c_int) :: ignored

    ignored = munmap(transfer(table, 0_c_intptr_t), round_up(bytes, page_bytes))
  end subroutine table_destroy

end module huge_pages
