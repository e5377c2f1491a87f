# hypre, for the algebraic multigrid of bps5's coarse solve: HYPRE_FOUND and the target HYPRE::HYPRE. It must be built with
# the MPI that commlens is built with. HYPRE_ROOT may say where it is; -DCMAKE_DISABLE_FIND_PACKAGE_HYPRE=ON leaves it out.
include(CheckCXXSourceCompiles)
include(FindPackageHandleStandardArgs)

find_path(HYPRE_INCLUDE_DIR HYPRE.h PATH_SUFFIXES hypre)
find_library(HYPRE_LIBRARY HYPRE)
mark_as_advanced(HYPRE_INCLUDE_DIR HYPRE_LIBRARY)
if(HYPRE_INCLUDE_DIR AND HYPRE_LIBRARY)
  set(CMAKE_REQUIRED_INCLUDES ${HYPRE_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${HYPRE_LIBRARY} MPI::MPI_C)
  set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX) # mpi.h's C++ bindings need another library
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("#include <HYPRE_parcsr_ls.h>
    int main() {
      HYPRE_Solver solver;
      return HYPRE_BoomerAMGCreate(&solver);
    }" HYPRE_LINKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
endif()
# A shared library of another MPI would link, and fail when it runs.
set(HYPRE_HAS_THIS_MPI TRUE)
if(HYPRE_LIBRARY MATCHES "[.]so")
  execute_process(COMMAND ldd ${HYPRE_LIBRARY} OUTPUT_VARIABLE needed ERROR_QUIET)
  set(HYPRE_HAS_THIS_MPI FALSE)
  set(libraries ${MPI_C_LIBRARIES})
  if(NOT libraries) # the compiler links MPI by itself, as Cray's cc does
    set(libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
    list(FILTER libraries INCLUDE REGEX mpi)
    list(TRANSFORM libraries REPLACE "^[^/]+$" "lib\\0.so")
  endif()
  foreach(library IN LISTS libraries)
    cmake_path(GET library FILENAME name)
    string(FIND "${needed}" "${name}" position)
    if(position GREATER_EQUAL 0)
      set(HYPRE_HAS_THIS_MPI TRUE)
    endif()
  endforeach()
endif()
find_package_handle_standard_args(HYPRE REQUIRED_VARS HYPRE_LIBRARY HYPRE_INCLUDE_DIR HYPRE_LINKS HYPRE_HAS_THIS_MPI)
if(HYPRE_FOUND AND NOT TARGET HYPRE::HYPRE)
  add_library(HYPRE::HYPRE INTERFACE IMPORTED)
  set_target_properties(HYPRE::HYPRE PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${HYPRE_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${HYPRE_LIBRARY};MPI::MPI_C")
endif()
