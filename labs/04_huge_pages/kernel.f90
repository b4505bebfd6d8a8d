! Lab 04: huge pages. Edit this file; README.md says what to do.
!
! The table works, but sits on small pages.
module huge_pages
  use, intrinsic :: iso_c_binding, only: c_ptr, c_size_t
  implicit none
  private
  public :: table_create, table_destroy

  interface
     ! void *malloc(size_t bytes)
     type(c_ptr) function c_malloc(bytes) bind(c, name="malloc")
       import :: c_ptr, c_size_t
       integer(c_size_t), value :: bytes
     end function c_malloc

     ! void free(void *memory)
     subroutine c_free(memory) bind(c, name="free")
       import :: c_ptr
       type(c_ptr), value :: memory
     end subroutine c_free
  end interface

contains

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes

    table_create = c_malloc(bytes)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes ! free knows it

    if (bytes > 0) call c_free(table)
  end subroutine table_destroy

end module huge_pages
