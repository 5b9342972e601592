# SPDX-License-Identifier: MIT
# MPICH as targets, found by its own compiler wrappers; see openmpi.cmake.
#   headway_mpich_c        C and C++ programs
#   headway_mpich_fortran  Fortran programs (mpif.h, use mpi, use mpi_f08)
include_guard(GLOBAL)

find_program(HEADWAY_MPICC_MPICH mpicc.mpich REQUIRED)
find_program(HEADWAY_MPIFORT_MPICH mpifort.mpich REQUIRED)
find_program(HEADWAY_MPIRUN_MPICH mpirun.mpich REQUIRED)

# headway_mpich_target(NAME WRAPPER): its command line sorted into a target.
# Options that are neither of these (optimisation, hardening) are ours to choose.
function(headway_mpich_target name wrapper)
  execute_process(COMMAND ${wrapper} -show
    OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${words}")
  add_library(${name} INTERFACE)
  foreach(word ${words})
    if(word MATCHES "^-I(.+)")
      target_include_directories(${name} SYSTEM INTERFACE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-L(.+)")
      target_link_directories(${name} INTERFACE ${CMAKE_MATCH_1})
    elseif(word MATCHES "^-l(.+)")
      target_link_libraries(${name} INTERFACE ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

headway_mpich_target(headway_mpich_c ${HEADWAY_MPICC_MPICH})
headway_mpich_target(headway_mpich_fortran ${HEADWAY_MPIFORT_MPICH})
target_compile_definitions(headway_mpich_c INTERFACE MPICH_SKIP_MPICXX)
