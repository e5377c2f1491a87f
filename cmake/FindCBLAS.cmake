# A BLAS with its C interface: CBLAS_FOUND and the target CBLAS::CBLAS, with which `#include <cblas.h>` and calls of
# cblas_?gemm compile and link, whatever the library names them. The first that links is taken:
#   1. CBLAS_LIBRARIES with CBLAS_INCLUDE_DIR; where they are given, nothing else;
#   2. what FindBLAS finds (BLA_VENDOR may choose): the compiler's own (Cray LibSci), MKL, OpenBLAS and others;
#   3. PyPI's scipy-openblas32 in VIRTUAL_ENV, for people without root;
#   4. the reference BLAS, last because it is slow.
# CBLAS_ROOT, or OPENBLAS_ROOT or MKLROOT in the environment, may say where.
include(CheckCXXSourceCompiles)
include(FindPackageHandleStandardArgs)

# cblas_try(NAME LIBRARIES [DIRECTORY...]): makes CBLAS::CBLAS of the libraries and sets CBLAS to the name, unless CBLAS is
# set already. The header is looked for in the directories first.
function(cblas_try name libraries)
  if(CBLAS)
    return()
  endif()
  find_path(header_dir NAMES cblas.h mkl_cblas.h PATHS ${ARGN} PATH_SUFFIXES openblas flexiblas NO_DEFAULT_PATH NO_CACHE)
  find_path(header_dir NAMES cblas.h mkl_cblas.h PATH_SUFFIXES openblas flexiblas NO_CACHE)
  set(include_dirs ${header_dir})
  if(NOT header_dir)
    set(include_dirs) # the compiler may know it: Cray's wrapper, CPATH
  elseif(NOT EXISTS ${header_dir}/cblas.h)
    file(WRITE ${PROJECT_BINARY_DIR}/cblas/cblas.h "#include <mkl_cblas.h>\n")
    list(PREPEND include_dirs ${PROJECT_BINARY_DIR}/cblas)
  endif()
  set(definitions)
  set(link_options)
  if(name MATCHES scipy_openblas) # its header and its library put scipy_ before every name
    foreach(type s d c z)
      list(APPEND definitions cblas_${type}gemm=scipy_cblas_${type}gemm)
    endforeach()
    # CMAKE_INSTALL_RPATH_USE_LINK_PATH leaves out what lies in the project, as .venv does.
    cmake_path(GET name PARENT_PATH directory)
    set(link_options LINKER:-rpath,${directory})
  endif()

  list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE CMAKE_REQUIRED_DEFINITIONS)
  set(CMAKE_REQUIRED_INCLUDES ${include_dirs})
  set(CMAKE_REQUIRED_LIBRARIES ${libraries})
  set(CMAKE_REQUIRED_QUIET TRUE)
  string(MD5 check "${name};${include_dirs}")
  check_cxx_source_compiles("#include <cblas.h>
    int main() {
      const double in[2] = {};
      double out[2];
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, 1, 1, 1, 1, in, 1, in, 1, 0, out, 1);
      cblas_zgemm(CblasColMajor, CblasNoTrans, CblasConjTrans, 1, 1, 1, in, in, 1, in, 1, in, out, 1);
    }" CBLAS_LINKS_${check})
  if(CBLAS_LINKS_${check})
    add_library(CBLAS::CBLAS INTERFACE IMPORTED)
    set_target_properties(CBLAS::CBLAS PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${include_dirs}"
      INTERFACE_COMPILE_DEFINITIONS "${definitions}" INTERFACE_LINK_LIBRARIES "${libraries}"
      INTERFACE_LINK_OPTIONS "${link_options}")
    set(CBLAS "${name}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT TARGET CBLAS::CBLAS)
  block(PROPAGATE CBLAS)
    unset(CBLAS)
    if(CBLAS_LIBRARIES)
      cblas_try("${CBLAS_LIBRARIES}" "${CBLAS_LIBRARIES}" ${CBLAS_INCLUDE_DIR})
    else()
      set(chosen ${BLA_VENDOR} $ENV{BLA_VENDOR})
      list(PREPEND CMAKE_PREFIX_PATH $ENV{OPENBLAS_ROOT} $ENV{MKLROOT})
      find_package(BLAS QUIET)
      file(GLOB wheel $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/scipy_openblas32)
      find_library(CBLAS_WHEEL_LIBRARY scipy_openblas HINTS ${wheel} PATH_SUFFIXES lib)
      find_library(CBLAS_REFERENCE_LIBRARY cblas)
      mark_as_advanced(CBLAS_WHEEL_LIBRARY CBLAS_REFERENCE_LIBRARY)

      set(beside $ENV{MKLROOT}/include)
      foreach(library IN LISTS BLAS_LIBRARIES)
        list(APPEND beside ${library}/../../include)
      endforeach()
      set(name "${BLAS_LIBRARIES}")
      if(NOT name)
        set(name "linked by ${CMAKE_CXX_COMPILER} itself")
      endif()
      if(BLAS_FOUND AND (chosen OR NOT name MATCHES "/libblas[.]"))
        cblas_try("${name}" BLAS::BLAS ${beside})
      endif()
      if(CBLAS_WHEEL_LIBRARY AND NOT chosen)
        cblas_try(${CBLAS_WHEEL_LIBRARY} ${CBLAS_WHEEL_LIBRARY} ${CBLAS_WHEEL_LIBRARY}/../../include)
      endif()
      if(BLAS_FOUND)
        cblas_try("${name}" BLAS::BLAS)
      endif()
      if(BLAS_FOUND AND CBLAS_REFERENCE_LIBRARY)
        cblas_try(${CBLAS_REFERENCE_LIBRARY} "${CBLAS_REFERENCE_LIBRARY};BLAS::BLAS")
      endif()
    endif()
  endblock()
endif()
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS REASON_FAILURE_MESSAGE "
  No BLAS with a C interface (cblas.h and cblas_dgemm) compiles and links. Any one of these helps:
    - apt-get install libopenblas-dev, dnf install openblas-devel, or a cluster's module of OpenBLAS or MKL
    - without root: pip install scipy-openblas32, in an active virtual environment
    - one elsewhere: -DCBLAS_ROOT=DIRECTORY, or -DCBLAS_LIBRARIES=FILES and -DCBLAS_INCLUDE_DIR=DIRECTORY")
