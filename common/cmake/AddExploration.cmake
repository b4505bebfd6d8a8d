# add_exploration(<name> SOURCE <explore.c> [PROGRAM <explore>])
#
# Declares <name>-explore, or <name>-PROGRAM, which ./numalab explore runs for the lab <name>: out
# of the default target, since the command builds it when it is needed. It lies beside the
# lab's other programs, <build>/labs/<name>/.

# As the published runs that are repeated were compiled (SVP-BLOG: gcc -O2), and nothing for
# this processor in particular.
set(NUMALAB_EXPLORATION_FLAGS -O2)

# The probe of common/ is compiled as kernels are, but no loop may become a call of memcpy or memset:
# for large arrays these pass by the caches, and move other bytes than the loop says.
set(NUMALAB_PROBE_FLAGS "-O3 -march=${NUMALAB_KERNEL_ARCHITECTURE}")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  string(APPEND NUMALAB_PROBE_FLAGS " -fno-tree-loop-distribute-patterns")
else()
  string(APPEND NUMALAB_PROBE_FLAGS " -fno-builtin")
endif()

function(add_exploration name)
  cmake_parse_arguments(PARSE_ARGV 1 exploration "" "SOURCE;PROGRAM" "")
  if(exploration_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_exploration(${name}): unknown arguments: "
      "${exploration_UNPARSED_ARGUMENTS}; the keywords are SOURCE and PROGRAM")
  endif()
  if(NOT exploration_SOURCE)
    message(FATAL_ERROR "add_exploration(${name}): SOURCE is needed")
  endif()

  if(NOT exploration_PROGRAM)
    set(exploration_PROGRAM explore)
  endif()
  set(program ${name}-${exploration_PROGRAM})
  add_executable(${program} EXCLUDE_FROM_ALL ${exploration_SOURCE})
  target_compile_options(${program} PRIVATE ${NUMALAB_EXPLORATION_FLAGS})
  target_link_libraries(${program} PRIVATE
    numalab::harness_flags numalab::openmp_kernel numalab::openmp_runtime ${CMAKE_DL_LIBS})
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/labs/${name})
endfunction()
