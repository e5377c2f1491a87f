# hipFFT: HipFFT_FOUND and the target HipFFT::HipFFT. It is looked for beside HIP; HipFFT_ROOT or ROCM_PATH may say where.
include(FindPackageHandleStandardArgs)
include(ImportedLibrary)
find_path(HipFFT_INCLUDE_DIR hipfft/hipfft.h HINTS $ENV{ROCM_PATH}/include ${hip_INCLUDE_DIRS} /opt/rocm/include)
find_library(HipFFT_LIBRARY hipfft HINTS $ENV{ROCM_PATH}/lib ${HipFFT_INCLUDE_DIR}/../lib)
find_package_handle_standard_args(HipFFT REQUIRED_VARS HipFFT_LIBRARY HipFFT_INCLUDE_DIR REASON_FAILURE_MESSAGE "
  It comes with ROCm. By itself it is Debian 13's libhipfft-dev, or hipfft-dev or hipfft-devel of AMD.
  Is it elsewhere? -DHipFFT_ROOT=DIRECTORY")
commlens_imported_library(HipFFT)
