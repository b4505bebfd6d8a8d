! malloc does not align to pages, so madvise refuses, and nobody looks at what it returns.
module huge_pages
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_ptr, c_size_t
  implicit none
  private
  public :: table_create, table_destroy

  integer(c_int), parameter :: madv_hugepage = 14

  interface
     type(c_ptr) function c_malloc(bytes) bind(c, name="malloc")
       import :: c_ptr, c_size_t
       integer(c_size_t), value :: bytes
     end function c_malloc

     subroutine c_free(memory) bind(c, name="free")
       import :: c_ptr
       type(c_ptr), value :: memory
     end subroutine c_free

     integer(c_int) function madvise(address, bytes, advice) bind(c)
       import :: c_int, c_intptr_t, c_size_t
       integer(c_intptr_t), value :: address
       integer(c_size_t), value :: bytes
       integer(c_int), value :: advice
     end function madvise
  end interface

contains

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes
    integer(c_int) :: ignored

    table_create = c_malloc(bytes)
    ignored = madvise(transfer(table_create, 0_c_intptr_t), bytes, madv_hugepage)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes

    if (bytes > 0) call c_free(table)
  end subroutine table_destroy

end module huge_pages
