# What commlens needs beside the GPU toolkits. MPI, a BLAS and FFTW must be there; the rest is found, or fetched where it is
# missing. A BLAS and FFTW are not fetched: building them takes minutes, and PyPI has both for people without root.
include(FetchContent)

find_package(MPI REQUIRED COMPONENTS C)
if(NOT MPI_C_INCLUDE_DIRS AND NOT COMMLENS_GPU STREQUAL "none")
  # A compiler that adds MPI by itself, as Cray's cc does: the GPU's compiler is another one and has to be told where mpi.h is.
  find_path(COMMLENS_MPI_HEADER_DIR mpi.h HINTS ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES} REQUIRED)
  mark_as_advanced(COMMLENS_MPI_HEADER_DIR)
  target_include_directories(MPI::MPI_C INTERFACE "$<$<COMPILE_LANGUAGE:CUDA,HIP>:${COMMLENS_MPI_HEADER_DIR}>")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CBLAS REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/Lapack.cmake)
find_package(FFTW REQUIRED)
find_package(HYPRE)

if(EXISTS ${PROJECT_SOURCE_DIR}/vendor) # in an archive of tools/release_archive.py, which is built without a network
  foreach(target CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
    add_library(${target} INTERFACE IMPORTED)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/vendor/include)
  endforeach()
  set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
else()
  FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.4.2 FIND_PACKAGE_ARGS)
  FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 10.2.1 FIND_PACKAGE_ARGS)
  FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3
    FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(CLI11 fmt nlohmann_json)
  # What such an archive brings of them. A target may have several folders, and the headers be in any of them.
  foreach(headers "CLI11::CLI11 CLI" "fmt::fmt fmt" "nlohmann_json::nlohmann_json nlohmann")
    separate_arguments(headers)
    list(POP_FRONT headers target)
    install(DIRECTORY "$<JOIN:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>,/${headers};>/${headers}"
      DESTINATION include COMPONENT vendor EXCLUDE_FROM_ALL OPTIONAL)
  endforeach()
endif()

if(COMMLENS_TESTS)
  FetchContent_Declare(googletest GIT_REPOSITORY https://github.com/google/googletest.git GIT_TAG v1.14.0
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endif()
