# commlens_preloaded_library(TARGET NAME SOURCE…): libNAME.so, which is preloaded into MPI programs. It is linked to no
# other part of commlens: it uses the sources beside this file, and the lists of base/.
# Sets in the caller: `includes`, where mpi.h is, and `mpi_name`, the name and version of the MPI, for messages.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/KnowledgeLists.cmake)
set(COMMLENS_PRELOAD ${CMAKE_CURRENT_LIST_DIR})

macro(commlens_find_mpi_headers)
  if(PROJECT_IS_TOP_LEVEL)
    find_package(MPI REQUIRED COMPONENTS C)
    if(NOT CMAKE_BUILD_TYPE)
      set(CMAKE_BUILD_TYPE Release)
    endif()
  endif()
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  set(includes ${MPI_C_COMPILER_INCLUDE_DIRS} ${MPI_C_INCLUDE_DIRS}
    ${MPI_C_ADDITIONAL_INCLUDE_DIRS} ${MPI_C_HEADER_DIR})
  list(REMOVE_DUPLICATES includes)
  list(TRANSFORM includes PREPEND -I OUTPUT_VARIABLE include_options)
  commlens_name_of_mpi()
endmacro()

# The name and version of the MPI, for messages.
macro(commlens_name_of_mpi)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/mpi_name.c "#include <mpi.h>
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#ifdef OPEN_MPI
commlens Open MPI TEXT(OMPI_MAJOR_VERSION) TEXT(OMPI_MINOR_VERSION) TEXT(OMPI_RELEASE_VERSION)
#else
commlens other MPICH_VERSION
#endif
")
  execute_process(
    COMMAND ${CMAKE_C_COMPILER} ${include_options} -E ${CMAKE_CURRENT_BINARY_DIR}/mpi_name.c
    OUTPUT_VARIABLE preprocessed COMMAND_ERROR_IS_FATAL ANY)
  if(preprocessed MATCHES "commlens Open MPI \"([0-9]+)\" \"([0-9]+)\" \"([0-9]+)\"")
    set(mpi_name "Open MPI ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
  elseif(preprocessed MATCHES "commlens other \"([^\"]+)\"")
    set(mpi_name "MPICH ${CMAKE_MATCH_1}")
  else()
    set(mpi_name "MPICH")
  endif()
endmacro()

function(commlens_preloaded_library target name)
  set(common memory_kind.cpp mpi_symbols.cpp process.cpp rank_file.cpp)
  list(TRANSFORM common PREPEND ${COMMLENS_PRELOAD}/)
  add_library(${target} MODULE ${ARGN} ${common})
  commlens_knowledge_lists(${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_include_directories(${target} PRIVATE
    ${CMAKE_CURRENT_SOURCE_DIR} ${COMMLENS_PRELOAD}/.. ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_include_directories(${target} SYSTEM PRIVATE ${includes})
  target_compile_features(${target} PRIVATE cxx_std_20)
  # A preloaded library must have no dependencies: not the C++ library, of which the program may need another version,
  # not MPI, because it is loaded into every process that a rank starts, and no sanitizer's runtime.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
    LINKER_LANGUAGE C CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_compile_options(${target} PRIVATE
    -fno-exceptions -fno-rtti -funwind-tables -fno-threadsafe-statics -fno-sanitize=all)
  target_link_options(${target} PRIVATE LINKER:--no-undefined
    LINKER:--as-needed) # a compiler that links MPI by itself, as Cray's cc does, names it to the linker
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  message(STATUS "commlens: lib${name}.so is for ${mpi_name}")
  if(NOT PROJECT_IS_TOP_LEVEL)
    install(TARGETS ${target} LIBRARY DESTINATION ${COMMLENS_INSTALL_LIB})
  endif()
endfunction()
