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

# What tools/setup has unpacked for people without root: Debian's packages, and a header from PyPI.
set(unpacked $ENV{VIRTUAL_ENV}/debian/usr)
if(EXISTS ${unpacked})
  list(APPEND CMAKE_PREFIX_PATH ${unpacked})
endif()
file(GLOB unpacked_headers ${unpacked}/include $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nlohmann_json/include)

# commlens_headers(NAME TARGET FOLDER REPOSITORY TAG): the target, of headers that are at hand (those unpacked, or vendor/ of
# an archive of tools/release_archive.py, which is built without a network), or of the package NAME, or fetched.
function(commlens_headers name target folder repository tag)
  find_path(headers ${folder} PATHS ${PROJECT_SOURCE_DIR}/vendor/include ${unpacked_headers} NO_DEFAULT_PATH NO_CACHE)
  if(headers)
    add_library(${target} INTERFACE IMPORTED)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${headers})
  else()
    FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} FIND_PACKAGE_ARGS)
    FetchContent_MakeAvailable(${name})
  endif()
  # What such an archive brings of them. A target may have several folders, and the headers be in any of them.
  install(DIRECTORY "$<JOIN:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>,/${folder};>/${folder}"
    DESTINATION include COMPONENT vendor EXCLUDE_FROM_ALL OPTIONAL)
  set(${name}_AT_HAND ${headers} PARENT_SCOPE)
endfunction()
commlens_headers(CLI11 CLI11::CLI11 CLI https://github.com/CLIUtils/CLI11.git v2.4.2)
commlens_headers(fmt fmt::fmt fmt https://github.com/fmtlib/fmt.git 10.2.1)
commlens_headers(nlohmann_json nlohmann_json::nlohmann_json nlohmann https://github.com/nlohmann/json.git v3.11.3)
if(fmt_AT_HAND)
  set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
endif()

if(COMMLENS_TESTS)
  FetchContent_Declare(googletest GIT_REPOSITORY https://github.com/google/googletest.git GIT_TAG v1.14.0
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endif()
