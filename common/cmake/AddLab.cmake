# add_lab(<name> CONTRACT <header> LANGUAGES <C|Fortran>... [LIBRARIES <library>...]
#   [KERNEL_FLAGS <flag>...] [MPI] [ON_LINK <source>] [BOTH_RUNTIMES] [RACE_CHECK] [STORES] [PROBE])
#
# Declares the lab whose grading/ is the current folder: its monitor, the test of its oracle, and for each language the
# worker programs <name>-<c|fortran>-<handout|solution|submission>. Workers are out
# of the default target, so a kernel that does not compile breaks nothing else.
#
# The solution's kernel is in solutions/<name>/; where it is not, as in a student's edition, what it was
# compiled to is, in solutions/<name>/objects/<NUMALAB_KERNEL_ARCHITECTURE>/. The target
# <name>-solution-objects makes what an edition takes of it. The submission's is where the grader
# puts it, <build>/submissions/<name>/, whether it grades a student's, the kit's own or the
# handout as it lies in labs/. The handout's is a copy taken at the first configuration,
# <build>/handouts/<name>/: students edit the kernel in labs/ in place, and times are
# compared with what they were given.
#
# LIBRARIES: what kernels may call, of numa and hwloc. KERNEL_FLAGS: what they are compiled with beside the usual.
# MPI: kernels are ranks of an MPI job; without MPI the lab is left out. ON_LINK: a kernel has a
# function that calls MPI, and <name>-<language>-<variant>-link is that kernel with a main program of
# the lab's, an MPI job for two nodes; the workers call no such function, and are no MPI jobs. BOTH_RUNTIMES:
# <name>-<language>-solution-libgomp is the solution on gcc's OpenMP runtime, whatever the
# others run on. RACE_CHECK: where clang is installed,
# <name>-<language>-<solution|submission>-race are the same programs built with
# ThreadSanitizer (targets <program>-built, out of the default one, too). STORES, beside it:
# ...-stores are the same objects with the kit's own notes of who writes which cache line in
# ThreadSanitizer's stead. PROBE: <name>-probe is a
# worker whose phases are solutions/<name>/probe.c, without a kernel: what lightspeed is measured by.
#
# For CTest: the test <name>-<language>-measure grades the submission, and one test for each
# criterion of lab.toml reads the verdict (77: not gradable here, shown as skipped).

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
# No errno: gfortran sets none either, and a loop with a square root can be vectorised.
set(NUMALAB_KERNEL_FLAGS -O3 -g -march=${NUMALAB_KERNEL_ARCHITECTURE} -fno-math-errno -Wall)

# What compiles and links a student's kernel: in a sandbox where the grader asks for it. By sh, since
# files of a copy need not be executable. CMake quotes a command's words, but not the property
# RULE_LAUNCH_COMPILE, which is a piece of a shell's line.
set(NUMALAB_COMPILE_APART /bin/sh ${PROJECT_SOURCE_DIR}/common/cmake/compile_apart)
string(REPLACE "'" "'\\''" quoted "${PROJECT_SOURCE_DIR}/common/cmake/compile_apart")
set(NUMALAB_COMPILE_APART_QUOTED "/bin/sh '${quoted}'")

# Leaves of a kernel's object nothing to be seen but the names of its contract.
set(NUMALAB_ISOLATE ${PROJECT_SOURCE_DIR}/common/cmake/isolate)
# A program with two copies of a kernel, and what worker/kernel_memory.c stands for there.
set(NUMALAB_LINK_COPIES ${PROJECT_SOURCE_DIR}/common/cmake/link_copies)
set(numalab_wrapped malloc calloc realloc free aligned_alloc memalign posix_memalign)
list(TRANSFORM numalab_wrapped PREPEND -Wl,--wrap=)
if(NOT CMAKE_OBJCOPY OR NOT CMAKE_LINKER)
  message(FATAL_ERROR "objcopy or ld was not found. Install the package binutils.")
endif()
# Reads what watched kernels were compiled to: that of binutils, whatever compiles.
find_program(NUMALAB_OBJDUMP objdump)
set(NUMALAB_FOLLOWS_ACCESSES FALSE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NUMALAB_OBJDUMP)
  set(NUMALAB_FOLLOWS_ACCESSES TRUE)
endif()

# What watched kernels are compiled with, and beside.
set(NUMALAB_COMPILE_WATCHED ${PROJECT_SOURCE_DIR}/common/cmake/compile_watched)
set(NUMALAB_PLAIN_MEMORY ${PROJECT_SOURCE_DIR}/common/cmake/plain_memory.h)
set(NUMALAB_NOTE_ACCESSES ${PROJECT_SOURCE_DIR}/common/cmake/note_accesses)
set(NUMALAB_NOTED_ACCESSES ${PROJECT_SOURCE_DIR}/grader/src/numalab/harness/noted_accesses.py)

function(add_lab name)
  cmake_parse_arguments(PARSE_ARGV 1 lab "MPI;BOTH_RUNTIMES;RACE_CHECK;STORES;PROBE"
    "CONTRACT;ON_LINK"
    "LANGUAGES;LIBRARIES;KERNEL_FLAGS")
  if(lab_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_lab(${name}): unknown arguments: ${lab_UNPARSED_ARGUMENTS}; "
      "the keywords are CONTRACT, LANGUAGES, LIBRARIES, KERNEL_FLAGS, MPI, ON_LINK, "
      "BOTH_RUNTIMES, RACE_CHECK, STORES and PROBE")
  endif()
  if(lab_STORES AND NOT lab_RACE_CHECK)
    message(FATAL_ERROR "add_lab(${name}): STORES links what RACE_CHECK compiles; name both")
  endif()
  if(NOT lab_CONTRACT OR NOT lab_LANGUAGES)
    message(FATAL_ERROR "add_lab(${name}): CONTRACT and LANGUAGES are both needed")
  endif()

  list(TRANSFORM lab_LIBRARIES PREPEND numalab::)
  # The handout, the contract and the programs that students run by hand.
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH lab_FOLDER)
  if(lab_ON_LINK AND (lab_MPI OR lab_RACE_CHECK))
    message(FATAL_ERROR "add_lab(${name}): ON_LINK is for workers that are no MPI jobs, and are not "
      "watched")
  endif()
  if(lab_MPI AND lab_RACE_CHECK)
    message(FATAL_ERROR "add_lab(${name}): there is no race check of MPI ranks")
  endif()
  if(lab_MPI AND lab_PROBE)
    message(FATAL_ERROR "add_lab(${name}): a probe is one process, no job of MPI ranks")
  endif()
  if((lab_MPI OR lab_ON_LINK) AND NOT NUMALAB_HAS_MPI)
    return()
  endif()

  add_executable(${name}-monitor driver.c)
  target_include_directories(${name}-monitor PRIVATE ${lab_FOLDER})
  target_link_libraries(${name}-monitor PRIVATE numalab::monitor m)

  # The phases may initialise in parallel.
  add_library(${name}-phases OBJECT phases.c)
  target_include_directories(${name}-phases PRIVATE ${lab_FOLDER})
  target_link_libraries(${name}-phases PRIVATE numalab::harness_flags numalab::openmp_kernel
    $<$<BOOL:${lab_MPI}>:MPI::MPI_C>)

  if(lab_PROBE)
    numalab_add_probe(${name})
  endif()

  if(lab_ON_LINK)
    add_library(${name}-on_link OBJECT EXCLUDE_FROM_ALL ${lab_ON_LINK})
    target_include_directories(${name}-on_link PRIVATE ${lab_FOLDER})
    target_link_libraries(${name}-on_link PRIVATE numalab::harness_flags MPI::MPI_C)
  endif()

  # All that a kernel finds by its name: what else lies in the lab's folder may tell what a variant
  # asks for, and a kernel that includes it would be right for everybody.
  set(lab_CONTRACT_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/contract)
  configure_file(${lab_FOLDER}/${lab_CONTRACT} ${lab_CONTRACT_FOLDER}/${lab_CONTRACT} COPYONLY)

  # A variant of a lab has none: audits run its oracle.
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/test_driver.c)
    add_executable(${name}-test_driver test_driver.c driver.c)
    target_include_directories(${name}-test_driver PRIVATE ${lab_FOLDER})
    target_link_libraries(${name}-test_driver PRIVATE numalab_monitor_base m)
    add_test(NAME unit-${name}-driver COMMAND ${name}-test_driver)
    set_tests_properties(unit-${name}-driver PROPERTIES LABELS unit TIMEOUT 600)
  endif()

  set(lab_OBJECTS "")
  file(STRINGS lab.toml functions REGEX "^functions = ")
  string(REGEX MATCHALL "[A-Za-z_][A-Za-z0-9_]*" lab_FUNCTIONS "${functions}")
  list(REMOVE_AT lab_FUNCTIONS 0) # the key

  file(GLOB placement_files CONFIGURE_DEPENDS ${lab_FOLDER}/*.env ${lab_FOLDER}/*.toml
    starting_code/*.env starting_code/*.toml)
  foreach(path IN LISTS placement_files)
    cmake_path(GET path FILENAME file)
    numalab_keep_handout(${name} ${file} kept)
  endforeach()
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
    numalab_keep_handout(${name} ${file} handout)
    numalab_add_worker(${name} ${short} handout ${handout})
    numalab_add_worker(${name} ${short} solution ${PROJECT_SOURCE_DIR}/solutions/${name}/${file})
    set(solution_kernel ${isolated})
    list(APPEND lab_OBJECTS ${isolated})
    numalab_add_worker(${name} ${short} submission ${submission})
    if(lab_BOTH_RUNTIMES)
      add_executable(${name}-${short}-solution-libgomp EXCLUDE_FROM_ALL)
      numalab_link_worker(${name}-${short}-solution-libgomp ${name} ${short}
        ${solution_kernel} numalab::libgomp)
    endif()
    if(lab_RACE_CHECK AND NUMALAB_RACE_COMPILER)
      numalab_add_race_worker(${name} ${short} solution ${PROJECT_SOURCE_DIR}/solutions/${name}/${file})
      list(APPEND lab_OBJECTS ${name}-${short}-solution-race-built)
      numalab_add_race_worker(${name} ${short} handout ${handout})
      numalab_add_race_worker(${name} ${short} submission ${submission})
    endif()
    numalab_add_lab_tests(${name} ${short})
  endforeach()
  if(lab_PROBE)
    list(APPEND lab_OBJECTS ${CMAKE_CURRENT_BINARY_DIR}/${name}-probe.o)
  endif()
  add_custom_target(${name}-solution-objects DEPENDS ${lab_OBJECTS})
endfunction()

# What a kernel of the solution was compiled to, where its source is left out; else nothing.
# kind: c, fortran, c-race, fortran-race or probe.
function(numalab_find_object lab kind source result)
  set(${result} "" PARENT_SCOPE)
  if(EXISTS ${source})
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/solutions/${lab}/objects)
  set(object ${folder}/${NUMALAB_KERNEL_ARCHITECTURE}/${kind}.o)
  if(NOT EXISTS ${object})
    file(GLOB levels RELATIVE ${folder} ${folder}/*)
    list(JOIN levels " and " levels)
    message(FATAL_ERROR
      "This copy of the kit has solutions as objects only, for ${levels}: there is none of ${lab} "
      "(${kind}) for ${NUMALAB_KERNEL_ARCHITECTURE}, which kernels are compiled for here. On an x86-64 "
      "processor leave NUMALAB_KERNEL_ARCHITECTURE out; for another one the whole kit is needed.")
  endif()
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

# One worker program: the harness, the lab's phases and one kernel. isolated: its object.
function(numalab_add_worker lab language variant kernel)
  set(worker ${lab}-${language}-${variant})
  if(variant STREQUAL "solution")
    numalab_find_object(${lab} ${language} ${kernel} object)
    if(object)
      add_executable(${worker} EXCLUDE_FROM_ALL)
      numalab_link_worker(${worker} ${lab} ${language} ${object} numalab::openmp_runtime)
      set(isolated ${object} PARENT_SCOPE)
      return()
    endif()
  endif()
  add_library(${worker}-kernel OBJECT EXCLUDE_FROM_ALL ${kernel})
  # A line indented by tabs is no mistake, and each would be warned of.
  target_compile_options(${worker}-kernel PRIVATE ${NUMALAB_KERNEL_FLAGS} ${lab_KERNEL_FLAGS}
    $<$<COMPILE_LANGUAGE:Fortran>:-Wno-tabs>)
  target_link_libraries(${worker}-kernel PRIVATE numalab::openmp_kernel ${lab_LIBRARIES})
  if(lab_MPI OR lab_ON_LINK)
    target_link_libraries(${worker}-kernel PRIVATE
      $<IF:$<STREQUAL:${language},c>,MPI::MPI_C,MPI::MPI_Fortran>)
    # mpi.h declares what its functions access, and its constants (MPI_STATUSES_IGNORE,
    # MPI_IN_PLACE, MPI_BOTTOM) are addresses of no object: gcc warns of right calls.
    target_compile_options(${worker}-kernel PRIVATE
      "$<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-nonnull>")
  endif()
  if(language STREQUAL "c")
    # Forced in, so that a kernel with another interface does not compile.
    target_compile_options(${worker}-kernel PRIVATE
      -include ${lab_FOLDER}/${lab_CONTRACT})
    target_include_directories(${worker}-kernel PRIVATE ${lab_CONTRACT_FOLDER})
  else()
    set_target_properties(${worker}-kernel PROPERTIES
      Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${worker}-modules)
  endif()

  set(apart "")
  if(variant STREQUAL "submission")
    set(apart ${NUMALAB_COMPILE_APART})
  endif()
  set(isolated ${CMAKE_CURRENT_BINARY_DIR}/${worker}-kernel.o)
  add_custom_command(OUTPUT ${isolated}
    COMMAND ${apart} /bin/sh ${NUMALAB_ISOLATE} ${CMAKE_LINKER} ${CMAKE_OBJCOPY}
      $<TARGET_OBJECTS:${worker}-kernel> -o ${isolated} ${lab_FUNCTIONS}
    DEPENDS ${worker}-kernel $<TARGET_OBJECTS:${worker}-kernel> ${NUMALAB_ISOLATE}
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Isolating the kernel of ${worker}")
  set_source_files_properties(${isolated} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(isolated ${isolated} PARENT_SCOPE)

  add_executable(${worker} EXCLUDE_FROM_ALL)
  numalab_link_worker(${worker} ${lab} ${language} ${isolated} numalab::openmp_runtime)
  if(variant STREQUAL "submission")
    # Not <LANG>_COMPILER_LAUNCHER, which leaves out that Fortran is preprocessed first.
    set_target_properties(${worker}-kernel PROPERTIES RULE_LAUNCH_COMPILE "${NUMALAB_COMPILE_APART_QUOTED}")
    set(programs ${worker})
    if(lab_ON_LINK)
      list(APPEND programs ${worker}-link)
    endif()
    set_target_properties(${programs} PROPERTIES C_LINKER_LAUNCHER "${NUMALAB_COMPILE_APART}")
    # An object with code for the link to optimise names options of the compiler that does so, plugins
    # and all.
    foreach(program IN LISTS programs)
      target_link_options(${program} PRIVATE
        "$<$<C_COMPILER_ID:GNU>:-fno-lto;-fno-use-linker-plugin>")
    endforeach()
  endif()
endfunction()

# A worker of the kit's own loops, compiled as kernels are.
function(numalab_add_probe lab)
  set(source ${PROJECT_SOURCE_DIR}/solutions/${lab}/probe.c)
  numalab_find_object(${lab} probe ${source} object)
  if(NOT object)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${lab}-probe.o)
    add_library(${lab}-probe-phases OBJECT EXCLUDE_FROM_ALL ${source})
    target_compile_options(${lab}-probe-phases PRIVATE ${NUMALAB_KERNEL_FLAGS} ${lab_KERNEL_FLAGS})
    target_include_directories(${lab}-probe-phases PRIVATE
      ${CMAKE_CURRENT_SOURCE_DIR} ${lab_FOLDER})
    target_link_libraries(${lab}-probe-phases PRIVATE numalab::harness_flags numalab::openmp_kernel)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:${lab}-probe-phases> ${object}
      DEPENDS ${lab}-probe-phases $<TARGET_OBJECTS:${lab}-probe-phases>
      COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endif()
  add_executable(${lab}-probe EXCLUDE_FROM_ALL ${object} $<TARGET_OBJECTS:numalab_worker>)
  set_target_properties(${lab}-probe PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(${lab}-probe PRIVATE numalab::harness_flags numalab::openmp_kernel
    numalab::openmp_runtime m)
endfunction()

# What a worker program is made of: the harness, the lab's phases, a kernel's objects and a runtime.
function(numalab_link_worker worker lab language kernel runtime)
  set_target_properties(${worker} PROPERTIES LINKER_LANGUAGE C)
  target_sources(${worker} PRIVATE
    ${kernel} $<TARGET_OBJECTS:${lab}-phases> $<TARGET_OBJECTS:numalab_worker>)
  if(lab_MPI)
    target_sources(${worker} PRIVATE $<TARGET_OBJECTS:numalab_mpi_worker>)
  endif()
  numalab_link_libraries(${worker} ${language})
  target_link_libraries(${worker} PRIVATE ${runtime} ${lab_LIBRARIES} m)
  if(lab_ON_LINK)
    add_executable(${worker}-link EXCLUDE_FROM_ALL ${kernel} $<TARGET_OBJECTS:${lab}-on_link>)
    set_target_properties(${worker}-link PROPERTIES LINKER_LANGUAGE C)
    numalab_link_libraries(${worker}-link ${language})
    target_link_libraries(${worker}-link PRIVATE ${runtime} m)
  endif()
endfunction()

# MPI's, where kernels call it, and those of a language.
function(numalab_link_libraries program language)
  if(lab_MPI OR lab_ON_LINK)
    target_link_libraries(${program} PRIVATE
      $<$<STREQUAL:${language},fortran>:MPI::MPI_Fortran> MPI::MPI_C)
  endif()
  if(language STREQUAL "fortran")
    target_link_libraries(${program} PRIVATE ${CMAKE_Fortran_IMPLICIT_LINK_LIBRARIES})
    target_link_directories(${program} PRIVATE ${CMAKE_Fortran_IMPLICIT_LINK_DIRECTORIES})
  endif()
endfunction()

# A worker program that ThreadSanitizer watches. The kernel is compiled by the compiler that compiles
# it to be run; clang compiles the phases and links, since only LLVM's OpenMP runtime tells the
# sanitizer of its barriers (through Archer, in that runtime's folder).
function(numalab_add_race_worker lab language variant kernel)
  set(program ${lab}-${language}-${variant}-race)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${program})
  string(TOUPPER ${CMAKE_BUILD_TYPE} type)
  if(language STREQUAL "c")
    set(compiler C)
    set(text ${file}-kernel.i)
    set(beside numalab_race_options numalab_rendezvous numalab_noted numalab_race_noted)
    set(libraries "")
  else()
    set(compiler Fortran)
    set(text ${file}-kernel-pp.f90)
    set(beside numalab_race_options numalab_race_fortran numalab_rendezvous numalab_noted
      numalab_race_noted)
    list(TRANSFORM CMAKE_Fortran_IMPLICIT_LINK_DIRECTORIES PREPEND -L OUTPUT_VARIABLE libraries)
    list(APPEND libraries -lgfortran)
  endif()
  separate_arguments(flags UNIX_COMMAND
    "${CMAKE_${compiler}_FLAGS} ${CMAKE_${compiler}_FLAGS_${type}} ${CMAKE_C11_STANDARD_COMPILE_OPTION}")
  if(language STREQUAL "fortran")
    list(REMOVE_ITEM flags ${CMAKE_C11_STANDARD_COMPILE_OPTION})
    list(APPEND flags -J${file}-modules)
  endif()
  list(APPEND flags ${NUMALAB_KERNEL_FLAGS} ${lab_KERNEL_FLAGS} -fopenmp -I${lab_CONTRACT_FOLDER})
  if(CMAKE_${compiler}_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -fdump-tree-tsan=${file}-accesses)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64") # calls, which can be seen, for what is copied
      list(APPEND flags -mmemcpy-strategy=libcall:-1:noalign -mmemset-strategy=libcall:-1:noalign)
    endif()
  endif()
  list(TRANSFORM beside REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects_beside)
  set(compile_own ${NUMALAB_RACE_COMPILER} -g -O1 -fno-builtin -fopenmp -fsanitize=thread
    -I${CMAKE_CURRENT_SOURCE_DIR} -I${lab_FOLDER} -I${PROJECT_SOURCE_DIR}/common/include -c)
  set(apart "")
  if(variant STREQUAL "submission")
    set(apart ${NUMALAB_COMPILE_APART})
  endif()
  # ThreadSanitizer takes the C library's for calls of a library that is not looked at. The same
  # names: grader/src/numalab/harness/library_calls.py.
  set(watched memcpy mempcpy memmove memset bcopy bzero strcpy stpcpy strncpy __memcpy_chk
    __mempcpy_chk __memmove_chk __memset_chk __strcpy_chk __stpcpy_chk __strncpy_chk
    sincos sincosf frexp frexpf modf modff syscall)
  list(TRANSFORM watched REPLACE ".+" "\\0=numalab_watched_\\0")
  cmake_path(GET NUMALAB_LIBOMP PARENT_PATH runtime_folder)
  file(GLOB headers CONFIGURE_DEPENDS *.h ${lab_FOLDER}/*.h)
  set(object "")
  if(variant STREQUAL "solution")
    numalab_find_object(${lab} ${language}-race ${kernel} object)
  endif()
  if(object)
    set(make_kernel COMMAND ${CMAKE_COMMAND} -E copy ${object} ${file}-kernel.o)
    set(kernel ${object})
  else()
    set(compile_watched ${apart} /bin/sh ${NUMALAB_COMPILE_WATCHED} ${language} ${kernel}
      ${lab_FOLDER}/${lab_CONTRACT})
    if(NUMALAB_FOLLOWS_ACCESSES)
      set(make_whole
        COMMAND ${compile_watched} ${NUMALAB_OBJDUMP} -o ${text} -o ${file}-kernel.s
          -o ${file}-kernel.dump ${CMAKE_${compiler}_COMPILER} ${flags}
        COMMAND /bin/sh ${NUMALAB_NOTE_ACCESSES} ${file}-kernel.s ${file}-kernel.dump
          ${file}-kernel-noted.s ${file}-unfollowed
        COMMAND ${apart} ${CMAKE_${compiler}_COMPILER} -c ${file}-kernel-noted.s
          -o ${file}-kernel-whole.o)
    else()
      set(make_whole COMMAND ${compile_watched} ${NUMALAB_PLAIN_MEMORY} -o ${text}
        -o ${file}-kernel-whole.o ${CMAKE_${compiler}_COMPILER} ${flags})
    endif()
    set(make_kernel
      COMMAND ${CMAKE_COMMAND} -E make_directory ${file}-modules
      ${make_whole}
      COMMAND ${apart} /bin/sh ${NUMALAB_ISOLATE} ${CMAKE_LINKER} ${CMAKE_OBJCOPY}
        ${file}-kernel-whole.o -o ${file}-kernel.o ${lab_FUNCTIONS} ${watched})
  endif()
  # What is the kit's own is compiled once, and not again for each text of a kernel.
  set(own ${file}-phases.o ${file}-race.o ${file}-memory.o)
  add_custom_command(OUTPUT ${own}
    COMMAND ${compile_own} ${CMAKE_CURRENT_SOURCE_DIR}/phases.c -o ${file}-phases.o
    COMMAND ${compile_own} ${PROJECT_SOURCE_DIR}/common/worker/race.c -o ${file}-race.o
    COMMAND ${compile_own} ${PROJECT_SOURCE_DIR}/common/worker/watched_memory.c -o ${file}-memory.o
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/phases.c ${headers}
      ${PROJECT_SOURCE_DIR}/common/worker/race.c ${PROJECT_SOURCE_DIR}/common/worker/watched_memory.c
    VERBATIM
    COMMENT "Building what calls ${program}")
  add_custom_command(OUTPUT ${file}
    ${make_kernel}
    COMMAND ${apart} ${NUMALAB_RACE_COMPILER} -fopenmp -fsanitize=thread -Wl,-rpath,${runtime_folder}
      ${file}-kernel.o ${own} ${objects_beside}
      $<TARGET_OBJECTS:numalab_worker> ${libraries} -lm -o ${file}
    DEPENDS ${kernel} ${own} ${headers}
      ${NUMALAB_PLAIN_MEMORY} ${NUMALAB_COMPILE_WATCHED} ${NUMALAB_NOTE_ACCESSES}
      ${NUMALAB_NOTED_ACCESSES}
      ${NUMALAB_ISOLATE} ${beside} ${objects_beside}
      $<TARGET_OBJECTS:numalab_worker>
    COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Building ${program}")
  add_custom_target(${program}-built DEPENDS ${file})
  if(lab_STORES)
    # Two copies of the kernel, since what begins at a line by luck does not in both
    # (worker/kernel_copy.h), each with what calls it and between what is nobody's.
    set(stores ${CMAKE_CURRENT_BINARY_DIR}/${lab}-${language}-${variant}-stores)
    add_custom_command(OUTPUT ${stores}
      COMMAND ${apart} /bin/sh ${NUMALAB_LINK_COPIES} ${CMAKE_LINKER} ${CMAKE_OBJCOPY}
        ${file}-kernel.o $<TARGET_OBJECTS:numalab_trailing_copy> $<TARGET_OBJECTS:${lab}-phases>
        $<TARGET_OBJECTS:numalab_copy_0> $<TARGET_OBJECTS:numalab_copy_1> -o ${stores}
        ${NUMALAB_RACE_COMPILER} -fopenmp -Wl,-rpath,${runtime_folder} ${numalab_wrapped} ${file}-memory.o
        $<TARGET_OBJECTS:numalab_kernel_memory> $<TARGET_OBJECTS:numalab_stores>
        $<TARGET_OBJECTS:numalab_noted> $<TARGET_OBJECTS:numalab_worker> ${libraries} -lm
      DEPENDS ${file} ${NUMALAB_LINK_COPIES} ${lab}-phases numalab_stores $<TARGET_OBJECTS:numalab_stores>
        numalab_noted $<TARGET_OBJECTS:numalab_noted>
        numalab_kernel_memory $<TARGET_OBJECTS:numalab_kernel_memory>
        numalab_trailing_copy $<TARGET_OBJECTS:numalab_trailing_copy>
        numalab_copy_0 $<TARGET_OBJECTS:numalab_copy_0>
        numalab_copy_1 $<TARGET_OBJECTS:numalab_copy_1> $<TARGET_OBJECTS:numalab_worker>
      COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Building ${lab}-${language}-${variant}-stores")
    add_custom_target(${lab}-${language}-${variant}-stores-built DEPENDS ${stores})
  endif()
endfunction()

# Copies a file of the handout unless it is there: from where nobody edits it, in what was unpacked;
# as git has it, so that an edit made before the first configuration is no harm; without either,
# as it is. The grader puts the right one in its place (grading/own_files.py).
function(numalab_keep_handout lab file result)
  set(kept ${PROJECT_BINARY_DIR}/handouts/${lab}/${file})
  set(${result} ${kept} PARENT_SCOPE)
  if(EXISTS ${kept})
    return()
  endif()
  cmake_path(GET kept PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  set(given ${CMAKE_CURRENT_SOURCE_DIR}/starting_code/${file})
  if(EXISTS ${given})
    file(COPY_FILE ${given} ${kept})
    return()
  endif()
  execute_process(
    # Whoever owns this copy: its programs are run here anyway.
    COMMAND git -c safe.directory=* show HEAD:labs/${lab}/${file}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_FILE ${kept} ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    file(COPY_FILE ${lab_FOLDER}/${file} ${kept})
  endif()
endfunction()

function(numalab_add_lab_tests lab language)
  set(launcher /bin/sh ${PROJECT_SOURCE_DIR}/numalab)
  set(measure ${lab}-${language}-measure)
  add_test(NAME ${measure} COMMAND ${launcher} measure ${lab} --lang ${language})
  set_tests_properties(${measure} PROPERTIES
    FIXTURES_SETUP ${measure} RUN_SERIAL TRUE TIMEOUT 1500
    ENVIRONMENT NUMALAB_PRESET=${NUMALAB_PRESET} LABELS "grade;${lab};${language};measure")

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS lab.toml)
  file(STRINGS lab.toml names REGEX "^name = ")
  file(STRINGS lab.toml kinds REGEX "^kind = ")
  foreach(name kind IN ZIP_LISTS names kinds)
    string(REGEX REPLACE "^name = \"(.*)\"" "\\1" name "${name}")
    string(REGEX REPLACE "^kind = \"(.*)\"" "\\1" kind "${kind}")
    add_test(NAME ${lab}-${language}-${name}
      COMMAND ${launcher} criterion ${lab} ${name} --lang ${language})
    set_tests_properties(${lab}-${language}-${name} PROPERTIES
      FIXTURES_REQUIRED ${measure} RUN_SERIAL TRUE SKIP_RETURN_CODE 77
      ENVIRONMENT NUMALAB_PRESET=${NUMALAB_PRESET} LABELS "grade;${lab};${language};${kind}")
  endforeach()
endfunction()
