! Lab 04, a variant, a solution: header and table are one piece.
module huge_pages
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_long, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: table_create, table_destroy

  ! As in <sys/mman.h>.
  integer(c_int), parameter :: prot_read = 1, prot_write = 2
  integer(c_int), parameter :: map_private = 2, map_anonymous = 32, madv_hugepage = 14
  integer(c_intptr_t), parameter :: map_failed = -1
  integer(c_size_t), parameter :: header_bytes = @pages@ * 4096 + @lines@ * 64

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

     integer(c_int) function getpagesize() bind(c)
       import :: c_int
     end function getpagesize

     integer(c_int) function madvise(address, bytes, advice) bind(c)
       import :: c_int, c_intptr_t, c_size_t
       integer(c_intptr_t), value :: address
       integer(c_size_t), value :: bytes
       integer(c_int), value :: advice
     end function madvise
  end interface

contains

  ! What one huge page of this system holds: 2 MiB on x86-64, other sizes elsewhere.
  integer(c_size_t) function huge_page_size()
    integer :: unit, failed
    integer(c_size_t) :: bytes

    huge_page_size = 2 * 1024**2
    open (newunit=unit, file="/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", &
         status="old", action="read", iostat=failed)
    if (failed /= 0) return
    read (unit, *, iostat=failed) bytes
    if (failed == 0) huge_page_size = bytes
    close (unit)
  end function huge_page_size

  ! Of header and table.
  integer(c_size_t) function whole_pages(bytes)
    integer(c_size_t), intent(in) :: bytes

    whole_pages = round_up(header_bytes + bytes, int(getpagesize(), c_size_t))
  end function whole_pages

  pure integer(c_size_t) function round_up(number, unit)
    integer(c_size_t), intent(in) :: number, unit

    round_up = (number + unit - 1) / unit * unit
  end function round_up

  type(c_ptr) function table_create(bytes) bind(c)
    integer(c_size_t), value :: bytes
    integer(c_size_t) :: huge_page_bytes, piece_bytes, reserved_bytes, before, after
    integer(c_intptr_t) :: reserved, piece
    integer(c_int) :: ignored

    huge_page_bytes = huge_page_size()
    piece_bytes = whole_pages(bytes)
    reserved_bytes = piece_bytes + huge_page_bytes
    reserved = transfer(mmap(c_null_ptr, reserved_bytes, ior(prot_read, prot_write), &
         ior(map_private, map_anonymous), -1_c_int, 0_c_long), reserved)
    table_create = c_null_ptr
    if (reserved == map_failed) return

    ! Addresses only so far: what lies before and after the piece goes back untouched.
    piece = round_up(reserved, huge_page_bytes)
    before = piece - reserved
    after = reserved_bytes - before - piece_bytes
    if (before > 0) ignored = munmap(reserved, before)
    if (after > 0) ignored = munmap(piece + piece_bytes, after)

    ignored = madvise(piece, piece_bytes, madv_hugepage) ! refused: small pages do
    table_create = transfer(piece + header_bytes, table_create)
  end function table_create

  subroutine table_destroy(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes
    integer(c_int) :: ignored

    ignored = munmap(transfer(table, 0_c_intptr_t) - header_bytes, whole_pages(bytes))
  end subroutine table_destroy

end module huge_pages
