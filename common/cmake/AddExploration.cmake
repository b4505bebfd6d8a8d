# add_exploration(<name> SOURCE <explore.c>)
#
# Declares <name>-explore, the program that ./numalab explore times for the lab <name>: out
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
  cmake_parse_arguments(PARSE_ARGV 1 exploration "" "SOURCE" "")
  if(exploration_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_exploration(${name}): unknown arguments: "
      "${exploration_UNPARSED_ARGUMENTS}; the keyword is SOURCE")
  endif()
  if(NOT exploration_SOURCE)
    message(FATAL_ERROR "add_exploration(${name}): SOURCE is needed")
  endif()

  add_executable(${name}-explore EXCLUDE_FROM_ALL ${exploration_SOURCE})
  target_compile_options(${name}-explore PRIVATE ${NUMALAB_EXPLORATION_FLAGS})
  target_link_libraries(${name}-explore PRIVATE
    numalab::harness_flags numalab::openmp_kernel numalab::openmp_runtime)
  set_target_properties(${name}-explore PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/labs/${name})
endfunction()
