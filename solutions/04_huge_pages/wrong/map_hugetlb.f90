! MAP_HUGETLB takes pages from a pool that the administrator has to fill; it is empty.
module huge_pages
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_long, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: table_create, table_destroy

  integer(c_size_t), parameter :: huge_page_bytes = 2 * 1024**2
  integer(c_int), parameter :: prot_read = 1, prot_write = 2
  integer(c_int), parameter :: map_private = 2, map_anonymous = 32
  integer(c_intptr_t), parameter :: map_failed = -1
  integer(c_int), parameter :: map_hugetlb = 262144

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
  end interface

contains

  pure integer(c_size_t) function round_up(number, unit)
    integer(c_size_t), intent(in) :: number, unit

    round_up = (number + unit - 1) / unit * unit
  end function round_up

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes
    integer(c_intptr_t) :: table

    table = transfer(mmap(c_null_ptr, round_up(bytes, huge_page_bytes), &
         ior(prot_read, prot_write), ior(map_hugetlb, ior(map_private, map_anonymous)), &
         -1_c_int, 0_c_long), table)
    if (table == map_failed) table = 0
    table_create = transfer(table, table_create)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes
    integer(c_int) :: ignored

    ignored = munmap(transfer(table, 0_c_intptr_t), round_up(bytes, huge_page_bytes))
  end subroutine table_destroy

end module huge_pages
