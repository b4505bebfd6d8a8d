# add_lab(<name> CONTRACT <header> LANGUAGES <C|Fortran>...)
#
# Declares the lab in the current folder: its monitor, and for each language the
# worker programs <name>-<c|fortran>-<handout|solution|submission>. Workers are out
# of the default target, so a kernel that does not compile breaks nothing else.
#
# The handout's kernel is beside the lab's CMakeLists.txt, the solution's in
# solutions/<name>/, the submission's wherever the grader has put it:
# <build>/submissions/<name>/.

# Fast enough for the labs' loops, and the same on this machine, on another node
# of the cluster and in a virtual machine.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  if(cpu_flags MATCHES " avx2 " AND cpu_flags MATCHES " fma " AND cpu_flags MATCHES " bmi2 ")
    set(default_architecture x86-64-v3)
  else()
    set(default_architecture x86-64)
  endif()
else()
  set(default_architecture native)
endif()
set(NUMALAB_KERNEL_ARCHITECTURE ${default_architecture} CACHE STRING "-march= of the kernels")
set(NUMALAB_KERNEL_FLAGS -O3 -g -march=${NUMALAB_KERNEL_ARCHITECTURE} -Wall)

function(add_lab name)
  cmake_parse_arguments(PARSE_ARGV 1 lab "" "CONTRACT" "LANGUAGES")
  if(lab_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_lab(${name}): unknown arguments: ${lab_UNPARSED_ARGUMENTS}; "
      "the keywords are CONTRACT and LANGUAGES")
  endif()
  if(NOT lab_CONTRACT OR NOT lab_LANGUAGES)
    message(FATAL_ERROR "add_lab(${name}): CONTRACT and LANGUAGES are both needed")
  endif()

  add_executable(${name}-monitor driver.c)
  target_link_libraries(${name}-monitor PRIVATE numalab::monitor)

  add_library(${name}-phases OBJECT phases.c)
  target_link_libraries(${name}-phases PRIVATE numalab::harness_flags)

  foreach(language IN LISTS lab_LANGUAGES)
    if(language STREQUAL "C")
      set(short c)
      set(file kernel.c)
    elseif(language STREQUAL "Fortran")
      set(short fortran)
      set(file kernel.f90)
    else()
      message(FATAL_ERROR "add_lab(${name}): unknown language: ${language}; C and Fortran are known")
    endif()
    set(submission ${PROJECT_BINARY_DIR}/submissions/${name}/${file})
    # It may be missing now, and no rule makes it: the grader does.
    set_source_files_properties(${submission} PROPERTIES GENERATED TRUE)
    numalab_add_worker(${name} ${short} handout ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    numalab_add_worker(${name} ${short} solution ${PROJECT_SOURCE_DIR}/solutions/${name}/${file})
    numalab_add_worker(${name} ${short} submission ${submission})
    numalab_add_lab_tests(${name} ${short})
  endforeach()
endfunction()

# One worker program: the harness, the lab's phases and one kernel.
function(numalab_add_worker lab language variant kernel)
  set(worker ${lab}-${language}-${variant})
  add_library(${worker}-kernel OBJECT EXCLUDE_FROM_ALL ${kernel})
  target_compile_options(${worker}-kernel PRIVATE ${NUMALAB_KERNEL_FLAGS})
  target_link_libraries(${worker}-kernel PRIVATE numalab::openmp_kernel)
  if(language STREQUAL "c")
    # Forced in, so that a kernel with another interface does not compile.
    target_compile_options(${worker}-kernel PRIVATE
      -include ${CMAKE_CURRENT_SOURCE_DIR}/${lab_CONTRACT})
    target_include_directories(${worker}-kernel PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  else()
    set_target_properties(${worker}-kernel PROPERTIES
      Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${worker}-modules)
  endif()

  add_executable(${worker} EXCLUDE_FROM_ALL)
  set_target_properties(${worker} PROPERTIES LINKER_LANGUAGE C)
  target_sources(${worker} PRIVATE
    $<TARGET_OBJECTS:${worker}-kernel> $<TARGET_OBJECTS:${lab}-phases>
    $<TARGET_OBJECTS:numalab_worker>)
  target_link_libraries(${worker} PRIVATE numalab::openmp_runtime)
  if(language STREQUAL "fortran")
    target_link_libraries(${worker} PRIVATE ${CMAKE_Fortran_IMPLICIT_LINK_LIBRARIES})
    target_link_directories(${worker} PRIVATE ${CMAKE_Fortran_IMPLICIT_LINK_DIRECTORIES})
  endif()
endfunction()

function(numalab_add_lab_tests lab language)
endfunction()
