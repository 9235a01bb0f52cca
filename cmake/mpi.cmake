# rondo_find_mpi(LIBRARY): MPICXX_LIBRARY, the compiler wrapper of openmpi or mpich where it and its headers are installed; else false. They are installed
# side by side, so that find_package could find one of them alone.
function(rondo_find_mpi library)
  find_program(MPICXX_${library} mpicxx.${library})
  if(NOT MPICXX_${library})
    return()
  endif()
  execute_process(COMMAND ${MPICXX_${library}} -E -include mpi.h -x c++ /dev/null OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)  # the launcher alone is there
    set(MPICXX_${library} OFF PARENT_SCOPE)
  endif()
endfunction()
