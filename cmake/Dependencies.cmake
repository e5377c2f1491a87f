# What commlens needs beside the GPU toolkits. MPI, a BLAS and FFTW must be there; the rest is found, or fetched where it is
# missing. A BLAS and FFTW are not fetched: building them takes minutes, and PyPI has both for people without root.
include(FetchContent)

find_package(MPI REQUIRED COMPONENTS C)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(CBLAS REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/Lapack.cmake)
find_package(FFTW REQUIRED)
find_package(HYPRE)

FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.4.2 FIND_PACKAGE_ARGS)
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt.git GIT_TAG 10.2.1 FIND_PACKAGE_ARGS)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3
  FIND_PACKAGE_ARGS)
FetchContent_MakeAvailable(CLI11 fmt nlohmann_json)

if(COMMLENS_TESTS)
  FetchContent_Declare(googletest GIT_REPOSITORY https://github.com/google/googletest.git GIT_TAG v1.14.0
    FIND_PACKAGE_ARGS NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
endif()
