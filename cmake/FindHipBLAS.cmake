# hipBLAS: HipBLAS_FOUND and the target HipBLAS::HipBLAS. It is looked for beside HIP; HipBLAS_ROOT or ROCM_PATH may say
# where. (hipBLAS has a package file of its own, but each version's asks for other packages.)
include(FindPackageHandleStandardArgs)
include(ImportedLibrary)
find_path(HipBLAS_INCLUDE_DIR hipblas/hipblas.h HINTS $ENV{ROCM_PATH}/include ${hip_INCLUDE_DIRS} /opt/rocm/include)
# What hipblas.h includes since ROCm 6.3; a folder of its own in Spack.
find_path(HipBLAS_COMMON_INCLUDE_DIR hipblas-common/hipblas-common.h HINTS ${HipBLAS_INCLUDE_DIR})
find_library(HipBLAS_LIBRARY hipblas HINTS $ENV{ROCM_PATH}/lib ${HipBLAS_INCLUDE_DIR}/../lib)
find_package_handle_standard_args(HipBLAS REQUIRED_VARS HipBLAS_LIBRARY HipBLAS_INCLUDE_DIR REASON_FAILURE_MESSAGE "
  It comes with ROCm. By itself it is Debian 13's libhipblas-dev, or hipblas-dev or hipblas-devel of AMD.
  Is it elsewhere? -DHipBLAS_ROOT=DIRECTORY")
set(common ${HipBLAS_COMMON_INCLUDE_DIR})
list(FILTER common EXCLUDE REGEX NOTFOUND)
commlens_imported_library(HipBLAS ${common})
mark_as_advanced(HipBLAS_COMMON_INCLUDE_DIR)
