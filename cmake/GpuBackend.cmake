# Makes the target commlens_gpu, which carries what compiling and linking GPU code needs, and the function
# commlens_gpu_sources(FILE...), which hands files with kernels to the GPU's compiler. Without a GPU backend both do nothing.
add_library(commlens_gpu INTERFACE)
set(COMMLENS_CCL FALSE)

if(COMMLENS_GPU STREQUAL "cuda")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90) # A100; H100, H200, GH200. For others: -DCMAKE_CUDA_ARCHITECTURES=70
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake before 3.26 does not know that nvcc 12 and later can
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit REQUIRED)
  target_compile_definitions(commlens_gpu INTERFACE COMMLENS_CUDA)
  target_compile_options(commlens_gpu INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;-Wno-deprecated-gpu-targets>")
  target_link_libraries(commlens_gpu INTERFACE CUDA::cudart)
  set(COMMLENS_GPU_LANGUAGE CUDA)
  find_package(CCL)
elseif(COMMLENS_GPU STREQUAL "hip")
  if(NOT CMAKE_HIP_ARCHITECTURES)
    set(CMAKE_HIP_ARCHITECTURES gfx90a) # MI210, MI250X
  endif()
  include(HipLanguage)
  set(CMAKE_HIP_STANDARD 20)
  set(CMAKE_HIP_STANDARD_REQUIRED ON)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5) # what HIP 5's package file asks for, CMake 4 has no more
  find_package(hip REQUIRED)
  unset(CMAKE_POLICY_VERSION_MINIMUM)
  target_compile_definitions(commlens_gpu INTERFACE COMMLENS_HIP)
  target_link_libraries(commlens_gpu INTERFACE hip::host)
  set(COMMLENS_GPU_LANGUAGE HIP)
  find_package(CCL)
elseif(NOT COMMLENS_GPU STREQUAL "none")
  message(FATAL_ERROR "COMMLENS_GPU=${COMMLENS_GPU}: write none, cuda or hip")
endif()

if(CCL_FOUND)
  target_compile_definitions(commlens_gpu INTERFACE COMMLENS_CCL)
  target_link_libraries(commlens_gpu INTERFACE CCL::CCL)
  set(COMMLENS_CCL TRUE)
endif()

function(commlens_gpu_sources)
  if(COMMLENS_GPU_LANGUAGE)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE ${COMMLENS_GPU_LANGUAGE})
  endif()
endfunction()

message(STATUS "commlens: GPU backend ${COMMLENS_GPU}, ccl ${COMMLENS_CCL}, MPI ${MPI_C_LIBRARIES}")
