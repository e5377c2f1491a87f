# commlens_imported_library(PACKAGE [DIRECTORY...]): where PACKAGE was found, the target PACKAGE::PACKAGE of
# PACKAGE_LIBRARY, with its headers in PACKAGE_INCLUDE_DIR and the directories.
function(commlens_imported_library package)
  mark_as_advanced(${package}_INCLUDE_DIR ${package}_LIBRARY)
  if(NOT ${package}_FOUND OR TARGET ${package}::${package})
    return()
  endif()
  set(directories ${${package}_INCLUDE_DIR} ${ARGN})
  add_library(${package}::${package} UNKNOWN IMPORTED)
  set_target_properties(${package}::${package} PROPERTIES IMPORTED_LOCATION ${${package}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${directories}")
endfunction()
