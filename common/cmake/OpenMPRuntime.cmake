# The OpenMP runtime of the kernels: numalab::openmp_kernel to compile with and
# numalab::openmp_runtime to link with.
#
# LLVM's libomp is the default for every compiler, since KMP_AFFINITY needs it;
# gcc and gfortran objects run on it, as it brings libgomp's entry points. Objects
# are compiled with -fopenmp and linked without, or gcc would add libgomp.

set(NUMALAB_OPENMP_RUNTIME libomp CACHE STRING "OpenMP runtime of the kernels: libomp or libgomp")
set_property(CACHE NUMALAB_OPENMP_RUNTIME PROPERTY STRINGS libomp libgomp)
if(NOT NUMALAB_OPENMP_RUNTIME MATCHES "^(libomp|libgomp)$")
  message(FATAL_ERROR "NUMALAB_OPENMP_RUNTIME is '${NUMALAB_OPENMP_RUNTIME}'; it can be libomp or libgomp")
endif()

if(NUMALAB_OPENMP_RUNTIME STREQUAL "libomp")
  file(GLOB llvm_library_folders /usr/lib/llvm-*/lib)
  list(SORT llvm_library_folders COMPARE NATURAL ORDER DESCENDING)
  find_library(NUMALAB_LIBOMP NAMES omp HINTS ${llvm_library_folders})
  if(NOT NUMALAB_LIBOMP)
    message(FATAL_ERROR
      "LLVM's OpenMP runtime (libomp.so) was not found. Install it (./numalab setup names its "
      "package), or set NUMALAB_LIBOMP to its path, or configure with "
      "-DNUMALAB_OPENMP_RUNTIME=libgomp; labs about KMP_AFFINITY need libomp.")
  endif()
  set(NUMALAB_OPENMP_LIBRARY ${NUMALAB_LIBOMP})
  # For ThreadSanitizer; of the same LLVM as the runtime. It may be missing.
  cmake_path(GET NUMALAB_LIBOMP PARENT_PATH llvm_folder)
  find_program(clang NAMES clang PATHS ${llvm_folder}/../bin NO_DEFAULT_PATH NO_CACHE)
  set(resources "")
  if(clang)
    execute_process(COMMAND ${clang} -print-resource-dir
      OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  file(GLOB sanitizer ${resources}/lib/*/libclang_rt.tsan*.a)
  if(resources AND sanitizer)
    set(NUMALAB_RACE_COMPILER ${clang})
  endif()
endif()
execute_process(
  COMMAND ${CMAKE_Fortran_COMPILER} -print-file-name=libgomp.so
  OUTPUT_VARIABLE NUMALAB_LIBGOMP
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NUMALAB_OPENMP_RUNTIME STREQUAL "libgomp")
  set(NUMALAB_OPENMP_LIBRARY ${NUMALAB_LIBGOMP})
endif()

add_library(numalab_openmp_kernel INTERFACE)
add_library(numalab::openmp_kernel ALIAS numalab_openmp_kernel)
target_compile_options(numalab_openmp_kernel INTERFACE
  $<$<COMPILE_LANG_AND_ID:C,GNU>:-fopenmp>
  $<$<COMPILE_LANG_AND_ID:C,Clang>:-fopenmp=libomp>
  $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-fopenmp>)
if(NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" OR NOT CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR
    "The kit knows gcc or clang for C and gfortran for Fortran; found "
    "${CMAKE_C_COMPILER_ID} and ${CMAKE_Fortran_COMPILER_ID}")
endif()

# For labs that show both. Objects that clang compiled need LLVM's.
add_library(numalab_libgomp INTERFACE)
add_library(numalab::libgomp ALIAS numalab_libgomp)
target_link_libraries(numalab_libgomp INTERFACE ${NUMALAB_LIBGOMP})

add_library(numalab_openmp_runtime INTERFACE)
add_library(numalab::openmp_runtime ALIAS numalab_openmp_runtime)
target_link_libraries(numalab_openmp_runtime INTERFACE ${NUMALAB_OPENMP_LIBRARY})
