# LAPACK's Fortran routines: the target commlens_lapack. The BLAS library nearly always has them; otherwise FindLAPACK finds
# them. After FindCBLAS.
include(CheckCXXSourceCompiles)

add_library(commlens_lapack INTERFACE)

# lapack_try(NAME PREFIX TARGET): links commlens_lapack with TARGET where its dsyev has the prefix, and sets COMMLENS_LAPACK.
function(lapack_try name prefix target)
  if(COMMLENS_LAPACK)
    return()
  endif()
  set(CMAKE_REQUIRED_LIBRARIES ${target})
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("extern \"C\" void ${prefix}dsyev_();
    int main() { ${prefix}dsyev_(); }" COMMLENS_LAPACK_${name})
  if(COMMLENS_LAPACK_${name})
    target_link_libraries(commlens_lapack INTERFACE ${target})
    target_compile_definitions(commlens_lapack INTERFACE COMMLENS_DSYEV=${prefix}dsyev_ COMMLENS_DGEEV=${prefix}dgeev_)
    set(COMMLENS_LAPACK ${name} PARENT_SCOPE)
  endif()
endfunction()

lapack_try(OF_BLAS "" CBLAS::CBLAS)
lapack_try(OF_SCIPY_OPENBLAS scipy_ CBLAS::CBLAS)
if(NOT COMMLENS_LAPACK)
  find_package(LAPACK REQUIRED)
  lapack_try(FOUND "" LAPACK::LAPACK)
endif()
