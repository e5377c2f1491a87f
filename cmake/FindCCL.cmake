# NCCL for CUDA, RCCL for HIP: CCL_FOUND and the target CCL::CCL, of the headers: programs load the library when they need
# it (src/transport/ccl.cpp), from its folder here if LD_LIBRARY_PATH has no other. CCL_ROOT or NCCL_HOME may say where.
include(FindPackageHandleStandardArgs)
if(COMMLENS_GPU STREQUAL "hip")
  set(header rccl/rccl.h)
  set(library rccl)
else()
  set(header nccl.h)
  set(library nccl)
endif()
find_path(CCL_INCLUDE_DIR ${header} HINTS $ENV{NCCL_HOME}/include $ENV{ROCM_PATH}/include ${CUDAToolkit_INCLUDE_DIRS})
# CUDA's own libraries lie in targets/, what is installed beside them often in the toolkit's lib64.
find_library(CCL_LIBRARY NAMES ${library} lib${library}.so.2 lib${library}.so.1
  HINTS $ENV{NCCL_HOME} $ENV{ROCM_PATH} ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}
  PATH_SUFFIXES lib64 lib)
find_package_handle_standard_args(CCL REQUIRED_VARS CCL_LIBRARY CCL_INCLUDE_DIR)
mark_as_advanced(CCL_INCLUDE_DIR CCL_LIBRARY)
if(CCL_FOUND AND NOT TARGET CCL::CCL)
  cmake_path(GET CCL_LIBRARY PARENT_PATH directory)
  add_library(CCL::CCL INTERFACE IMPORTED)
  set_target_properties(CCL::CCL PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CCL_INCLUDE_DIR}
    INTERFACE_LINK_OPTIONS LINKER:-rpath,${directory})
endif()
