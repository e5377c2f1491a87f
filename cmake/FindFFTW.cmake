# FFTW 3 in double and single precision: FFTW_FOUND and the target FFTW::FFTW, with which `#include <fftw3.h>` and calls of
# fftw_… and fftwf_… compile and link. The first that links is taken:
#   1. FFTW_LIBRARIES with FFTW_INCLUDE_DIR; where they are given, nothing else;
#   2. libfftw3 and libfftw3f, wherever FFTW_ROOT, FFTW_DIR or FFTW_HOME say, or where everything is;
#   3. what the compiler links by itself (Cray's module of FFTW);
#   4. MKL, which has FFTW's interface: in MKLROOT, or PyPI's mkl-devel in VIRTUAL_ENV, for people without root.
include(CheckCXXSourceCompiles)
include(FindPackageHandleStandardArgs)

# fftw_try(NAME LIBRARIES INCLUDE_DIR): makes FFTW::FFTW of the libraries and sets FFTW to the name, unless FFTW is set
# already.
function(fftw_try name libraries include_dir)
  if(FFTW)
    return()
  endif()
  set(link_options)
  # CMAKE_INSTALL_RPATH_USE_LINK_PATH leaves out what lies in the project, as .venv does.
  set(environment "$ENV{VIRTUAL_ENV}")
  cmake_path(IS_PREFIX environment "${libraries}" in_environment)
  if(environment AND in_environment)
    cmake_path(GET libraries PARENT_PATH directory)
    set(link_options LINKER:-rpath,${directory})
  endif()
  set(CMAKE_REQUIRED_INCLUDES ${include_dir})
  set(CMAKE_REQUIRED_LIBRARIES ${libraries})
  set(CMAKE_REQUIRED_LINK_OPTIONS ${link_options})
  set(CMAKE_REQUIRED_QUIET TRUE)
  string(MD5 check "${libraries};${include_dir}")
  check_cxx_source_compiles("#include <fftw3.h>
    int main() {
      const fftw_iodim64 one{1, 1, 1};
      fftw_complex wide[1] = {};
      fftwf_complex narrow[1] = {};
      const auto plan = fftw_plan_guru64_dft(1, &one, 0, nullptr, wide, wide, FFTW_FORWARD, FFTW_ESTIMATE);
      const auto narrow_plan = fftwf_plan_guru64_dft(1, &one, 0, nullptr, narrow, narrow, FFTW_FORWARD, FFTW_ESTIMATE);
      fftw_execute_dft(plan, wide, wide);
      fftwf_execute_dft(narrow_plan, narrow, narrow);
      return fftw_alignment_of(*wide) + fftwf_alignment_of(*narrow) + fftw_version[0];
    }" FFTW_LINKS_${check})
  if(FFTW_LINKS_${check})
    add_library(FFTW::FFTW INTERFACE IMPORTED)
    set_target_properties(FFTW::FFTW PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${include_dir}"
      INTERFACE_LINK_LIBRARIES "${libraries}" INTERFACE_LINK_OPTIONS "${link_options}")
    set(FFTW "${name}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT TARGET FFTW::FFTW)
  block(PROPAGATE FFTW)
    unset(FFTW)
    if(FFTW_LIBRARIES)
      fftw_try("${FFTW_LIBRARIES}" "${FFTW_LIBRARIES}" "${FFTW_INCLUDE_DIR}")
    else()
      # Cray's FFTW_DIR is the folder of the libraries, everybody else's the one above.
      set(places $ENV{FFTW_ROOT} $ENV{FFTW_DIR} $ENV{FFTW_DIR}/.. $ENV{FFTW_HOME})
      find_path(FFTW_HEADER_DIR fftw3.h HINTS ${places} PATH_SUFFIXES include)
      find_library(FFTW_DOUBLE_LIBRARY fftw3 HINTS ${places} PATH_SUFFIXES lib lib64)
      find_library(FFTW_SINGLE_LIBRARY fftw3f HINTS ${places} PATH_SUFFIXES lib lib64)
      find_path(FFTW_MKL_HEADER_DIR fftw3.h HINTS $ENV{MKLROOT} $ENV{VIRTUAL_ENV} PATH_SUFFIXES include/fftw)
      find_library(FFTW_MKL_LIBRARY NAMES mkl_rt libmkl_rt.so.3 libmkl_rt.so.2 HINTS $ENV{MKLROOT} $ENV{VIRTUAL_ENV}
        PATH_SUFFIXES lib lib/intel64)
      mark_as_advanced(FFTW_HEADER_DIR FFTW_DOUBLE_LIBRARY FFTW_SINGLE_LIBRARY FFTW_MKL_HEADER_DIR FFTW_MKL_LIBRARY)
      if(FFTW_HEADER_DIR AND FFTW_DOUBLE_LIBRARY AND FFTW_SINGLE_LIBRARY)
        fftw_try("${FFTW_DOUBLE_LIBRARY}" "${FFTW_DOUBLE_LIBRARY};${FFTW_SINGLE_LIBRARY}" "${FFTW_HEADER_DIR}")
      endif()
      fftw_try("linked by ${CMAKE_CXX_COMPILER} itself" "" "")
      if(FFTW_MKL_HEADER_DIR AND FFTW_MKL_LIBRARY)
        fftw_try("${FFTW_MKL_LIBRARY}" "${FFTW_MKL_LIBRARY}" "${FFTW_MKL_HEADER_DIR}")
      endif()
    endif()
  endblock()
endif()
find_package_handle_standard_args(FFTW REQUIRED_VARS FFTW REASON_FAILURE_MESSAGE "
  No FFTW 3 in both double and single precision (fftw3.h, libfftw3 and libfftw3f) compiles and links. Any one of these helps:
    - apt-get install libfftw3-dev, dnf install fftw-devel, or a cluster's module of FFTW or MKL
    - without root: pip install mkl-devel, in an active virtual environment (x86-64 only)
    - one elsewhere: -DFFTW_ROOT=DIRECTORY, or -DFFTW_LIBRARIES=FILES and -DFFTW_INCLUDE_DIR=DIRECTORY")
