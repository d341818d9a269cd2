# SPDX-License-Identifier: MIT

# Sets LK_MICROHTTPD to the name under which libmicrohttpd is loaded, empty where
# it is missing or not wanted.
set(LK_MICROHTTPD "")
if(LK_HTTP)
  pkg_check_modules(MICROHTTPD libmicrohttpd>=0.9.72)
endif()
if(LK_HTTP AND MICROHTTPD_FOUND)
  find_library(LK_MICROHTTPD_FILE NAMES ${MICROHTTPD_LIBRARIES}
    HINTS ${MICROHTTPD_LIBRARY_DIRS})
  mark_as_advanced(LK_MICROHTTPD_FILE)
  file(REAL_PATH "${LK_MICROHTTPD_FILE}" LK__path)
  get_filename_component(LK__name "${LK__path}" NAME)
  if(LK__name MATCHES "^libmicrohttpd\\.so\\.[0-9]+")
    set(LK_MICROHTTPD "${CMAKE_MATCH_0}")
  endif()
endif()
if(NOT LK_MICROHTTPD AND LK_HTTP)
  message(WARNING "No libmicrohttpd (Debian: libmicrohttpd-dev): the tool is "
    "built without `latchkey serve` and `latchkey metrics --listen`. "
    "LK_HTTP=OFF says that this is meant.")
endif()
