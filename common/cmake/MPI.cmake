# MPI::MPI_C and MPI::MPI_Fortran where NUMALAB_HAS_MPI is true; NUMALAB_MPI is then such as
# "MPICH 4.0.2", and NUMALAB_MPIEXEC its launcher. It has to be MPICH or a relative, whose
# mpiexec the kit knows; where there is another MPI as well, Debian's names tell MPICH's. It may
# be missing, and a compiler wrapper without headers makes FindMPI stop the configuration: so
# the headers come first.
set(NUMALAB_HAS_MPI FALSE)
set(NUMALAB_MPI "")
set(NUMALAB_MPIEXEC mpiexec)
find_program(mpicc NAMES $ENV{MPICC} mpicc.mpich mpicc NO_CACHE)
if(mpicc)
  execute_process(
    COMMAND ${mpicc} -E -dM -include mpi.h -xc /dev/null
    OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND macros MATCHES "#define MPICH_VERSION \"([^\"]+)\"")
    set(version ${CMAKE_MATCH_1})
    # Of the same installation: beside it, and with the same ending.
    string(REPLACE mpicc mpifort mpifort ${mpicc})
    string(REPLACE mpicc mpiexec mpiexec ${mpicc})
    if(EXISTS ${mpifort} AND EXISTS ${mpiexec})
      set(MPI_C_COMPILER ${mpicc})
      set(MPI_Fortran_COMPILER ${mpifort})
      find_package(MPI QUIET COMPONENTS C Fortran)
    endif()
    if(MPI_C_FOUND AND MPI_Fortran_FOUND AND MPI_Fortran_HAVE_F08_MODULE)
      set(NUMALAB_HAS_MPI TRUE)
      set(NUMALAB_MPI "MPICH ${version}")
      set(NUMALAB_MPIEXEC ${mpiexec})
    endif()
  endif()
endif()
if(NOT NUMALAB_HAS_MPI)
  message(STATUS "No MPICH with C and mpi_f08: labs with MPI are left out")
endif()
