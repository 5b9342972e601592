# SPDX-License-Identifier: MIT
# Open MPI as targets, found by its own compiler wrappers.  CMake's FindMPI is
# not used: where MPICH is installed too it may take that one, and mixing the
# two libraries in one build links programs that crash.
#   headway_openmpi_c        C and C++ programs
#   headway_openmpi_fortran  Fortran programs (mpif.h, use mpi, use mpi_f08)
include_guard(GLOBAL)

find_program(HEADWAY_MPICC mpicc.openmpi REQUIRED)
find_program(HEADWAY_MPIFORT mpifort.openmpi REQUIRED)
find_program(HEADWAY_MPIRUN mpirun.openmpi REQUIRED)

# headway_ask_wrapper(WRAPPER WHAT RESULT): WRAPPER --showme:WHAT as a list
function(headway_ask_wrapper wrapper what result)
  execute_process(COMMAND ${wrapper} --showme:${what}
    OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${words}")
  set(${result} ${words} PARENT_SCOPE)
endfunction()

# headway_openmpi_target(NAME WRAPPER)
function(headway_openmpi_target name wrapper)
  # Of mpifort, incdirs is empty from Open MPI 5 on.
  headway_ask_wrapper(${wrapper} compile include_dirs)
  list(FILTER include_dirs INCLUDE REGEX "^-I")
  list(TRANSFORM include_dirs REPLACE "^-I" "")
  headway_ask_wrapper(${wrapper} libdirs library_dirs)
  headway_ask_wrapper(${wrapper} libs libraries)
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE ${include_dirs})
  target_link_directories(${name} INTERFACE ${library_dirs})
  target_link_libraries(${name} INTERFACE ${libraries})
endfunction()

# Open MPI 5 is started by PRRTE.
headway_ask_wrapper(${HEADWAY_MPICC} version version)
if(NOT "${version}" MATCHES "Open;MPI;([0-9]+)")
  message(FATAL_ERROR "${HEADWAY_MPICC} does not tell the version of Open MPI: ${version}")
endif()
if(CMAKE_MATCH_1 GREATER_EQUAL 5)
  find_program(HEADWAY_PRTERUN_PROGRAM prterun REQUIRED)
endif()

headway_openmpi_target(headway_openmpi_c ${HEADWAY_MPICC})
headway_openmpi_target(headway_openmpi_fortran ${HEADWAY_MPIFORT})
# The C++ bindings are deprecated and would pull in libmpi_cxx.
target_compile_definitions(headway_openmpi_c INTERFACE OMPI_SKIP_MPICXX)
