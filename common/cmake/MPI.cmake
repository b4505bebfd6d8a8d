# MPI::MPI_C where NUMALAB_HAS_MPI is true. It may be missing, and a
# launcher without headers makes FindMPI stop the configuration: so the headers come first.
set(NUMALAB_HAS_MPI FALSE)
find_program(mpicc NAMES mpicc NO_CACHE)
if(mpicc)
  execute_process(
    COMMAND ${mpicc} -E -include mpi.h -xc /dev/null
    OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    find_package(MPI QUIET COMPONENTS C)
    set(NUMALAB_HAS_MPI ${MPI_C_FOUND})
  endif()
endif()
