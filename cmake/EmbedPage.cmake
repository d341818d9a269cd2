# SPDX-License-Identifier: MIT

# lk_embed_page(<target> <file> <symbol>)
#
# Embeds a file of text in <target> as `const char <symbol>[]`, with a zero
# behind it.
function(lk_embed_page target file symbol)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  set(out "${PROJECT_BINARY_DIR}/generated/${symbol}.c")
  file(CONFIGURE OUTPUT "${out}" CONTENT
    "extern const char ${symbol}[];\nconst char ${symbol}[] = {${bytes}0};\n"
    @ONLY)
  target_sources(${target} PRIVATE "${out}")
endfunction()
