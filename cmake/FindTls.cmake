# SPDX-License-Identifier: MIT

# Sets LK_OPENSSL to the name under which OpenSSL is loaded, empty where it is
# missing or not wanted.
set(LK_OPENSSL "")
if(LK_TLS)
  pkg_check_modules(OPENSSL openssl>=3.0)
endif()
if(LK_TLS AND OPENSSL_FOUND)
  find_library(LK_OPENSSL_FILE NAMES ssl HINTS ${OPENSSL_LIBRARY_DIRS})
  mark_as_advanced(LK_OPENSSL_FILE)
  file(REAL_PATH "${LK_OPENSSL_FILE}" LK__path)
  get_filename_component(LK__name "${LK__path}" NAME)
  if(LK__name MATCHES "^libssl\\.so\\.[0-9]+")
    set(LK_OPENSSL "${CMAKE_MATCH_0}")
  endif()
endif()
if(NOT LK_OPENSSL AND LK_TLS)
  message(WARNING "No OpenSSL (Debian: libssl-dev): latchkey is built without "
    "TLS, and refuses rediss://. LK_TLS=OFF says that this is meant.")
endif()
