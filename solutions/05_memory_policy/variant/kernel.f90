! Lab 05, a variant, a solution.
module memory_policy
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_int, &
       c_int64_t, c_long, c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: place_table, place_blocks, hand_over, place_stream

  ! What mbind(2) and <numaif.h> call by these names.
  integer(c_int), parameter :: MPOL_PREFERRED = 1
  integer(c_int), parameter :: MPOL_MF_MOVE = 2

  ! As many NUMA nodes as Linux can have: 64 to an integer.
  integer, parameter :: MOST_NODES = 1024, BITS = 64

  ! hwloc.h: HWLOC_MEMATTR_ID_BANDWIDTH, HWLOC_LOCATION_TYPE_CPUSET, and the
  ! begin of struct hwloc_obj and struct hwloc_location.
  integer(c_int), parameter :: BANDWIDTH = 2, OF_CPUSET = 1
  type, bind(c) :: hwloc_obj
     integer(c_int) :: type
     type(c_ptr) :: subtype
     integer(c_int) :: os_index
  end type hwloc_obj
  type, bind(c) :: hwloc_location
     integer(c_int) :: type
     type(c_ptr) :: cpuset
  end type hwloc_location

  interface
     function mbind(address, bytes, policy, nodes, bits, flags) &
          result(failed) bind(c)
       import :: c_int, c_long, c_size_t
       integer(c_size_t), value :: address, bytes
       integer(c_int), value :: policy, flags
       integer(c_long), intent(in) :: nodes(*)
       integer(c_long), value :: bits
       integer(c_long) :: failed
     end function mbind

     function sched_getcpu() result(pu) bind(c)
       import :: c_int
       integer(c_int) :: pu
     end function sched_getcpu

     function getpagesize() result(bytes) bind(c)
       import :: c_int
       integer(c_int) :: bytes
     end function getpagesize

     function numa_node_of_cpu(pu) result(numa_node) bind(c)
       import :: c_int
       integer(c_int), value :: pu
       integer(c_int) :: numa_node
     end function numa_node_of_cpu

     function hwloc_topology_init(topology) result(failed) bind(c)
       import :: c_int, c_ptr
       type(c_ptr), intent(out) :: topology
       integer(c_int) :: failed
     end function hwloc_topology_init

     function hwloc_topology_load(topology) result(failed) bind(c)
       import :: c_int, c_ptr
       type(c_ptr), value :: topology
       integer(c_int) :: failed
     end function hwloc_topology_load

     subroutine hwloc_topology_destroy(topology) bind(c)
       import :: c_ptr
       type(c_ptr), value :: topology
     end subroutine hwloc_topology_destroy

     function hwloc_bitmap_alloc() result(bitmap) bind(c)
       import :: c_ptr
       type(c_ptr) :: bitmap
     end function hwloc_bitmap_alloc

     function hwloc_bitmap_only(bitmap, number) result(failed) bind(c)
       import :: c_int, c_ptr
       type(c_ptr), value :: bitmap
       integer(c_int), value :: number
       integer(c_int) :: failed
     end function hwloc_bitmap_only

     subroutine hwloc_bitmap_free(bitmap) bind(c)
       import :: c_ptr
       type(c_ptr), value :: bitmap
     end subroutine hwloc_bitmap_free

     function hwloc_memattr_get_best_target(topology, attribute, from, &
          flags, best, value_of_it) result(failed) bind(c)
       import :: c_int, c_int64_t, c_long, c_ptr, hwloc_location
       type(c_ptr), value :: topology
       integer(c_int), value :: attribute
       type(hwloc_location), intent(in) :: from
       integer(c_long), value :: flags
       type(c_ptr), intent(out) :: best
       integer(c_int64_t), intent(out) :: value_of_it
       integer(c_int) :: failed
     end function hwloc_memattr_get_best_target
  end interface

contains

  ! Of all pages that have any of these bytes: mbind takes whole pages only.
  ! Where it can't do it, memory stays where its first touch puts it.
  subroutine set_policy(begin, end, policy, nodes, flags)
    integer(c_size_t), intent(in) :: begin, end ! addresses
    integer(c_int), intent(in) :: policy, flags
    integer(c_long), intent(in) :: nodes(:)
    integer(c_size_t) :: page, first, past
    integer(c_long) :: failed

    page = getpagesize()
    first = begin / page * page
    past = (end + page - 1) / page * page
    failed = mbind(first, past - first, policy, nodes, &
         int(MOST_NODES + 1, c_long), flags)
  end subroutine set_policy

  subroutine add(nodes, node)
    integer(c_long), intent(inout) :: nodes(0:)
    integer, intent(in) :: node

    nodes(node / BITS) = ibset(nodes(node / BITS), mod(node, BITS))
  end subroutine add

  ! A policy of one node. Preferred, and not bind: where the node is full,
  ! memory comes from elsewhere. Pages that are there already move.
  subroutine prefer(begin, end, node)
    integer(c_size_t), intent(in) :: begin, end
    integer, intent(in) :: node
    integer(c_long) :: nodes(0:MOST_NODES / BITS - 1)

    nodes = 0
    call add(nodes, node)
    call set_policy(begin, end, MPOL_PREFERRED, nodes, MPOL_MF_MOVE)
  end subroutine prefer

  function address_of(memory) result(address)
    type(c_ptr), intent(in) :: memory
    integer(c_size_t) :: address

    address = transfer(memory, address)
  end function address_of

  function own_node() result(node)
    integer :: node

    node = numa_node_of_cpu(sched_getcpu())
  end function own_node

  subroutine place_table(table, bytes) bind(c)
    type(c_ptr), value :: table
    integer(c_size_t), value :: bytes
    logical :: has_threads(0:MOST_NODES - 1)
    integer, allocatable :: nodes(:)
    integer(c_size_t) :: page, first, past, run
    integer :: node, p, count

    has_threads = .false.
    !$omp parallel private(node)
    node = own_node()
    !$omp critical
    has_threads(node) = .true.
    !$omp end critical
    !$omp end parallel
    nodes = pack([(node, node = 0, MOST_NODES - 1)], has_threads)
    count = size(nodes)
    nodes = pack(nodes, [(@nodes.keep_fortran@, p = 0, count - 1)])
    if (size(nodes) == 0) return
    page = getpagesize()
    first = address_of(table) / page * page
    past = address_of(table) + bytes
    do run = 0, (past - first - 1) / (@run@ * page)
       call prefer(first + run * @run@ * page, &
            min(first + (run + 1) * @run@ * page, past), &
            nodes(1 + int(mod(run, size(nodes, kind=c_size_t)))))
    end do
  end subroutine place_table

  subroutine place_blocks(blocks, bytes, parts) bind(c)
    type(c_ptr), value :: blocks
    integer(c_size_t), value :: bytes
    integer(c_int), value :: parts
    integer(c_size_t) :: first, part
    integer :: i, owned

    first = address_of(blocks)
    part = bytes / parts
    ! Each thread knows best where it runs.
    !$omp parallel do num_threads(parts) schedule(static, 1) private(owned)
    do i = 0, parts - 1
       owned = @owner.part_fortran@
       call prefer(first + part * owned, &
            merge(first + part * (owned + 1), first + bytes, owned + 1 < parts), &
            own_node())
    end do
    !$omp end parallel do
  end subroutine place_blocks

  subroutine hand_over(matrix, bytes, node) bind(c)
    type(c_ptr), value :: matrix
    integer(c_size_t), value :: bytes
    integer(c_int), value :: node

    call prefer(address_of(matrix), address_of(matrix) + bytes, node)
  end subroutine hand_over

  ! NUMA node whose memory has the most bandwidth for the calling thread, or
  ! -1.
  function fastest_node() result(node)
    integer :: node
    type(c_ptr) :: topology, pu, best
    type(hwloc_obj), pointer :: found
    integer(c_int64_t) :: bytes_a_second
    integer(c_int) :: failed

    node = -1
    if (hwloc_topology_init(topology) /= 0) return
    pu = hwloc_bitmap_alloc()
    failed = hwloc_bitmap_only(pu, sched_getcpu())
    failed = hwloc_topology_load(topology)
    if (failed == 0) then
       best = c_null_ptr
       failed = hwloc_memattr_get_best_target(topology, BANDWIDTH, &
            hwloc_location(OF_CPUSET, pu), 0_c_long, best, bytes_a_second)
       if (failed == 0 .and. c_associated(best)) then
          call c_f_pointer(best, found)
          node = found%os_index
       end if
    end if
    call hwloc_bitmap_free(pu)
    call hwloc_topology_destroy(topology)
  end function fastest_node

  subroutine place_stream(stream, bytes) bind(c)
    type(c_ptr), value :: stream
    integer(c_size_t), value :: bytes
    integer :: node

    node = fastest_node()
    if (node < 0) node = own_node()
    call prefer(address_of(stream), address_of(stream) + bytes, node)
  end subroutine place_stream

end module memory_policy
