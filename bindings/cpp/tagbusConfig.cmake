# SPDX-License-Identifier: Apache-2.0
#
# find_package(tagbus) for CMake: the target tagbus::tagbus has the library and its headers, for C and for
# C++17. This file is in LIBDIR/cmake/tagbus.

get_filename_component(_tagbus_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

find_path(tagbus_INCLUDE_DIR tagbus.h HINTS "${_tagbus_libdir}/include" "${_tagbus_libdir}/../include" "${_tagbus_libdir}/../../include")
find_library(tagbus_LIBRARY tagbus HINTS "${_tagbus_libdir}")

if(NOT tagbus_INCLUDE_DIR OR NOT tagbus_LIBRARY)
  set(tagbus_FOUND FALSE)
  set(tagbus_NOT_FOUND_MESSAGE "tagbus.h or libtagbus.so is not beside ${_tagbus_libdir}: install libtagbus-dev, or run make lib")
  return()
endif()

if(NOT TARGET tagbus::tagbus)
  add_library(tagbus::tagbus SHARED IMPORTED)
  set_target_properties(tagbus::tagbus PROPERTIES
    IMPORTED_LOCATION "${tagbus_LIBRARY}"
    IMPORTED_SONAME "libtagbus.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${tagbus_INCLUDE_DIR}")
  find_package(Threads QUIET) # the headers for C++ start threads
  if(TARGET Threads::Threads)
    set_target_properties(tagbus::tagbus PROPERTIES INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
endif()
