# MPI::MPI_C and MPI::MPI_Fortran where NUMALAB_HAS_MPI is true; NUMALAB_MPI is then such as
# "MPICH 4.0.2". It has to be MPICH or a relative, whose mpiexec the kit knows. It may be
# missing, and a launcher without headers makes FindMPI stop the configuration: so the headers
# come first.
set(NUMALAB_HAS_MPI FALSE)
set(NUMALAB_MPI "")
find_program(mpicc NAMES mpicc.mpich mpicc NO_CACHE)
if(mpicc)
  execute_process(
    COMMAND ${mpicc} -E -dM -include mpi.h -xc /dev/null
    OUTPUT_VARIABLE macros ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND macros MATCHES "#define MPICH_VERSION \"([^\"]+)\"")
    set(version ${CMAKE_MATCH_1})
    find_package(MPI QUIET COMPONENTS C Fortran)
    if(MPI_C_FOUND AND MPI_Fortran_FOUND AND MPI_Fortran_HAVE_F08_MODULE)
      set(NUMALAB_HAS_MPI TRUE)
      set(NUMALAB_MPI "MPICH ${version}")
    endif()
  endif()
endif()
if(NOT NUMALAB_HAS_MPI)
  message(STATUS "No MPICH with C and mpi_f08: labs with MPI are left out")
endif()
