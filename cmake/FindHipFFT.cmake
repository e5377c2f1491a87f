# hipFFT: HipFFT_FOUND and the target HipFFT::HipFFT. It is looked for beside HIP; HipFFT_ROOT or ROCM_PATH may say where.
include(FindPackageHandleStandardArgs)
find_path(HipFFT_INCLUDE_DIR hipfft/hipfft.h HINTS $ENV{ROCM_PATH}/include ${hip_INCLUDE_DIRS} /opt/rocm/include)
find_library(HipFFT_LIBRARY hipfft HINTS $ENV{ROCM_PATH}/lib ${HipFFT_INCLUDE_DIR}/../lib)
find_package_handle_standard_args(HipFFT REQUIRED_VARS HipFFT_LIBRARY HipFFT_INCLUDE_DIR REASON_FAILURE_MESSAGE "
  It comes with ROCm. By itself it is Debian 13's libhipfft-dev, or hipfft-dev or hipfft-devel of AMD.
  Is it elsewhere? -DHipFFT_ROOT=DIRECTORY")
if(HipFFT_FOUND AND NOT TARGET HipFFT::HipFFT)
  add_library(HipFFT::HipFFT UNKNOWN IMPORTED)
  set_target_properties(HipFFT::HipFFT PROPERTIES IMPORTED_LOCATION ${HipFFT_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${HipFFT_INCLUDE_DIR})
endif()
mark_as_advanced(HipFFT_INCLUDE_DIR HipFFT_LIBRARY)
