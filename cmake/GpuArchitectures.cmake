# The GPUs that are compiled for where CMAKE_CUDA_ARCHITECTURES or CMAKE_HIP_ARCHITECTURES names none: those of the machines
# that commlens is for, as far as the compiler knows them. A GPU between two of them runs the older one's code, and one
# that is newer than the last of CUDA is compiled for when the program starts.

# V100, A100, H100 and H200, Blackwell: CUDA 12.8 came to know the last, and CUDA 13 has given up the first.
function(commlens_cuda_architectures result version)
  set(architectures 80-real)
  if(version VERSION_LESS 13)
    list(PREPEND architectures 70-real)
  endif()
  if(version VERSION_LESS 12.8)
    list(APPEND architectures 90)
  else()
    list(APPEND architectures 90-real 100)
  endif()
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()

# MI210, MI250X; MI300A, MI300X, which ROCm 5.7 with its Clang 17 came to know.
function(commlens_hip_architectures result clang_version)
  set(architectures gfx90a)
  if(clang_version VERSION_GREATER_EQUAL 17)
    list(APPEND architectures gfx942)
  endif()
  set(${result} ${architectures} PARENT_SCOPE)
endfunction()
