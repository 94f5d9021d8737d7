# Mercury for CMake: find_package(mercury REQUIRED), then target_link_libraries(... mercury), or na, or mercury_util.
# Variables: MERCURY_FOUND, MERCURY_INCLUDE_DIR, MERCURY_INCLUDE_DIRS, MERCURY_LIBRARY, MERCURY_LIBRARIES,
# mercury_FOUND, mercury_INCLUDE_DIRS, mercury_LIBRARIES.
set(LCI_for_mercury TRUE)
include("${CMAKE_CURRENT_LIST_DIR}/../LCI/LCIConfig.cmake")
unset(LCI_for_mercury)
if(NOT TARGET LCI::mercury)
  set(mercury_FOUND FALSE)
  set(mercury_NOT_FOUND_MESSAGE "${LCI_NOT_FOUND_MESSAGE}")
  return()
endif()

# Not as alias libraries, which before CMake 3.18 can't be of imported targets.
foreach(MERCURY_target IN ITEMS mercury na mercury_util)
  if(NOT TARGET ${MERCURY_target})
    add_library(${MERCURY_target} INTERFACE IMPORTED)
    set_target_properties(${MERCURY_target} PROPERTIES INTERFACE_LINK_LIBRARIES LCI::${MERCURY_target})
  endif()
endforeach()
unset(MERCURY_target)

get_target_property(MERCURY_INCLUDE_DIR LCI::mercury INTERFACE_INCLUDE_DIRECTORIES)
set(MERCURY_FOUND TRUE)
set(MERCURY_LIBRARY mercury)
set(MERCURY_LIBRARIES mercury na mercury_util)
set(MERCURY_INCLUDE_DIRS "${MERCURY_INCLUDE_DIR}")
set(mercury_LIBRARIES "${MERCURY_LIBRARIES}")
set(mercury_INCLUDE_DIRS "${MERCURY_INCLUDE_DIRS}")
