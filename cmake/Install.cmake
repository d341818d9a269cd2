# SPDX-License-Identifier: MIT

# What is installed.

include(CMakePackageConfigHelpers)
set(LK_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/latchkey")
set(LK_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
list(TRANSFORM LK_PUBLIC_HEADERS PREPEND "include/latchkey/"
  OUTPUT_VARIABLE LK_HEADER_FILES)
install(FILES ${LK_HEADER_FILES}
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/latchkey)
install(TARGETS latchkey latchkey_static EXPORT latchkey-targets)
if(LK_TOOL)
  install(TARGETS latchkey_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES completions/latchkey.bash RENAME latchkey
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES completions/_latchkey
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES completions/latchkey.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
# The man pages say what the tool's tables say, so the tool writes them. Not in a
# build with sanitizers, which may not run everywhere.
if(LK_TOOL AND NOT LK_SANITIZE)
  set(LK_MAN "${PROJECT_BINARY_DIR}/man")
  add_custom_command(OUTPUT "${LK_MAN}/latchkey.1.in"
    COMMAND "${PROJECT_SOURCE_DIR}/tools/make-manual.sh"
      "$<TARGET_FILE:latchkey_cli>"
      "${PROJECT_SOURCE_DIR}/docs/latchkey.1.in" "${LK_MAN}"
    DEPENDS latchkey_cli docs/latchkey.1.in tools/make-manual.sh)
  add_custom_target(latchkey_manual ALL DEPENDS "${LK_MAN}/latchkey.1.in")
  # Where the tool is, is known when it is installed.
  install(CODE "
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE
      OUTPUT_VARIABLE LK_PREFIX)
    set(LK_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
    cmake_path(ABSOLUTE_PATH LK_BINDIR BASE_DIRECTORY \"\${LK_PREFIX}\")
    set(LK_DOCDIR \"${CMAKE_INSTALL_DOCDIR}\")
    cmake_path(ABSOLUTE_PATH LK_DOCDIR BASE_DIRECTORY \"\${LK_PREFIX}\")
    configure_file(\"${LK_MAN}/latchkey.1.in\" \"${LK_MAN}/latchkey.1\" @ONLY)")
  install(DIRECTORY "${LK_MAN}/" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    FILES_MATCHING PATTERN "*.1")
endif()

# The man pages of the library say what its headers and its guide of guarantees say.
set(LK_LIBRARY_MAN "${PROJECT_BINARY_DIR}/library-man")
list(TRANSFORM LK_PUBLIC_HEADERS PREPEND "include/latchkey/"
  OUTPUT_VARIABLE LK_MAN_SOURCES)
add_custom_command(OUTPUT "${LK_LIBRARY_MAN}/man7/latchkey-guarantees.7"
  COMMAND "${PROJECT_SOURCE_DIR}/tools/make-library-manual.sh"
    ${PROJECT_VERSION} "${LK_LIBRARY_MAN}"
  DEPENDS ${LK_MAN_SOURCES} docs/guarantees.md tools/make-library-manual.sh
    tools/manual-header.awk tools/manual-guide.awk)
add_custom_target(latchkey_library_manual ALL
  DEPENDS "${LK_LIBRARY_MAN}/man7/latchkey-guarantees.7")
install(DIRECTORY "${LK_LIBRARY_MAN}/" DESTINATION ${CMAKE_INSTALL_MANDIR})

install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
install(EXPORT latchkey-targets NAMESPACE latchkey::
  DESTINATION ${LK_CMAKE_DIR})

# Told from where the file lies: cmake --install may name another prefix.
set(LK_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH LK_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" LK_PC_UP "${LK_PC_UP}")
  set(LK_PC_PREFIX "\${pcfiledir}/${LK_PC_UP}")
endif()
# Named, not required: nobody who links the shared library needs them.
list(JOIN HIREDIS_LDFLAGS " " LK_PC_HIREDIS)
list(JOIN UV_LDFLAGS " " LK_PC_UV)
set(LK_PC_LIBS_PRIVATE "${LK_PC_HIREDIS} ${LK_PC_UV}")
configure_file(cmake/latchkey.pc.in ${LK_GENERATED_DIR}/latchkey.pc @ONLY)
install(FILES ${LK_GENERATED_DIR}/latchkey.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/latchkey-config.cmake.in
  ${LK_GENERATED_DIR}/latchkey-config.cmake
  INSTALL_DESTINATION ${LK_CMAKE_DIR})
write_basic_package_version_file(
  ${LK_GENERATED_DIR}/latchkey-config-version.cmake
  COMPATIBILITY ${LK_COMPATIBILITY})
install(FILES
  ${LK_GENERATED_DIR}/latchkey-config.cmake
  ${LK_GENERATED_DIR}/latchkey-config-version.cmake
  DESTINATION ${LK_CMAKE_DIR})
