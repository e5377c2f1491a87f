# enable_language(HIP), also where ROCm comes from the distribution: Debian and Ubuntu name the compiler clang++-15 and keep
# the package hip-lang under lib/x86_64-linux-gnu, where CMake 3.25 looks for neither.
if(NOT CMAKE_HIP_COMPILER AND NOT DEFINED ENV{HIPCXX})
  # The clang that hipcc stands for: HIP's headers and device libraries fit that version only.
  find_program(COMMLENS_HIPCC hipcc HINTS $ENV{ROCM_PATH}/bin /opt/rocm/bin REQUIRED)
  execute_process(COMMAND ${COMMLENS_HIPCC} --version OUTPUT_VARIABLE about ERROR_QUIET)
  if(about MATCHES "clang version ([0-9]+).*InstalledDir: *([^\n]+)")
    find_program(CMAKE_HIP_COMPILER NAMES clang++-${CMAKE_MATCH_1} clang++ NAMES_PER_DIR HINTS ${CMAKE_MATCH_2})
  endif()
endif()

set(distribution /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
if(NOT CMAKE_HIP_COMPILER_ROCM_ROOT AND NOT EXISTS /opt/rocm AND EXISTS ${distribution}/cmake/hip-lang)
  set(CMAKE_HIP_COMPILER_ROCM_ROOT ${PROJECT_BINARY_DIR}/rocm)
  file(MAKE_DIRECTORY ${CMAKE_HIP_COMPILER_ROCM_ROOT})
  file(CREATE_LINK ${distribution} ${CMAKE_HIP_COMPILER_ROCM_ROOT}/lib SYMBOLIC)
  set(CMAKE_HIP_FLAGS_INIT "--rocm-path=/usr --rocm-device-lib-path=${distribution}/amdgcn/bitcode")
endif()

# CMake tries the compiler in a project of its own, which has to find the packages below lib/<architecture> too.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_LIBRARY_ARCHITECTURE)
enable_language(HIP)

if(COMMLENS_TESTS AND CMAKE_HIP_COMPILER_VERSION VERSION_LESS 16)
  message(STATUS "commlens: no tests, because Clang ${CMAKE_HIP_COMPILER_VERSION} crashes on GoogleTest in HIP's C++20")
  set(COMMLENS_TESTS OFF)
endif()
