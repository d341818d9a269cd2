# SPDX-License-Identifier: MIT

# lk__script_c(<symbol> <name> <body> <index> <out>)
#
# Returns the C that defines one script.
function(lk__script_c symbol name body index out)
  string(SHA1 sha1 "${body}")
  string(HEX "${body}" hex)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
  string(CONCAT text
    "\nstatic const char ${symbol}_body[] = \"${bytes}\";\n"
    "extern const lk__script ${symbol};\n"
    "const lk__script ${symbol} = {\n"
    "    .name = \"${name}\",\n    .body = ${symbol}_body,\n"
    "    .size = ${size},\n    .sha1 = \"${sha1}\",\n"
    "    .index = ${index},\n};\n")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# lk__tables_make(<out dir> <family>...)
#
# Makes C and Lua of lua/<family>/<family>.table, and C of the packed texts that
# all families have, as tools/table/ says. A table, a
# script or a fragment that does not fit is an error here.
function(lk__tables_make out)
  find_program(AWK awk REQUIRED)
  set(tools "${PROJECT_SOURCE_DIR}/tools/table")
  file(MAKE_DIRECTORY "${out}")
  file(GLOB used CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lua/*/*.lua"
    "${PROJECT_SOURCE_DIR}/lua/*/*.table" "${tools}/*.awk")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${used})
  foreach(family IN LISTS ARGN ITEMS shared)
    set(read "lua/shared/shared.table" "lua/${family}/${family}.table")
    list(REMOVE_DUPLICATES read)
    execute_process(RESULT_VARIABLE failed ERROR_VARIABLE words
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      COMMAND "${AWK}" -v family=${family} -v lua=lua -v "out=${out}"
        -f "${tools}/read.awk" -f "${tools}/c.awk" -f "${tools}/lua.awk"
        ${read})
    if(failed)
      message(FATAL_ERROR "${words}")
    endif()
  endforeach()
endfunction()

# lk__table_scripts(<family> <out>)
#
# Returns the names of the scripts of a family's table.
function(lk__table_scripts family out)
  file(STRINGS "${PROJECT_SOURCE_DIR}/lua/${family}/${family}.table" names
    REGEX "^script ")
  string(REPLACE "script " "" names "${names}")
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# lk_embed_scripts(<target> <family>...)
#
# Embeds in <target> each script of a family's table as `const lk__script
# lk__<family>_<script>_script`, with what C needs of the table. Sets
# LK_ALL_SCRIPTS: a source with the list all_scripts[lk__script_count], for those
# who have to know them all.
function(lk_embed_scripts target)
  set(tables "${PROJECT_BINARY_DIR}/generated/tables")
  # Each body is a string: that is ten times as quick to compile as a list of its bytes.
  string(CONCAT text "#include \"base/script.h\"\n"
    "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
  set(index 0)
  set(declared "")
  set(listed "")
  lk__tables_make("${tables}" ${ARGN})
  target_sources(${target} PRIVATE "${tables}/shared_table.c")
  foreach(family IN LISTS ARGN)
    lk__table_scripts(${family} names)
    foreach(name IN LISTS names)
      file(READ "${tables}/${family}_${name}.lua" body)
      set(symbol "lk__${family}_${name}_script")
      lk__script_c("${symbol}" "${family}_${name}" "${body}" ${index} one)
      string(APPEND text "${one}")
      string(APPEND declared "extern const lk__script ${symbol};\n")
      string(APPEND listed "    &${symbol},\n")
      math(EXPR index "${index} + 1")
    endforeach()
    target_sources(${target} PRIVATE "${tables}/${family}_table.c")
  endforeach()
  string(APPEND text "\nconst unsigned lk__script_count = ${index};\n")

  set(out "${PROJECT_BINARY_DIR}/generated/scripts.c")
  file(CONFIGURE OUTPUT "${out}" CONTENT "${text}" @ONLY)

  set(list "${PROJECT_BINARY_DIR}/generated/all_scripts.c")
  file(CONFIGURE OUTPUT "${list}" CONTENT "#include \"base/script.h\"\n
extern const lk__script *const all_scripts[];\n${declared}
const lk__script *const all_scripts[] = {\n${listed}};\n" @ONLY)
  set(LK_ALL_SCRIPTS "${list}" PARENT_SCOPE)
  target_sources(${target} PRIVATE "${out}")
endfunction()

# lk_embed_rights(<target> <source.c>...)
#
# Embeds in <target> which rights each primitive needs at the server, as
# src/cli/rights.h declares it. They are made of these sources, the scripts and
# their tables whenever one of them has changed; see tools/rights.awk.
function(lk_embed_rights target)
  set(out "${PROJECT_BINARY_DIR}/generated/cli_rights.c")
  set(tool "${PROJECT_SOURCE_DIR}/tools/rights.awk")
  set(said "${PROJECT_SOURCE_DIR}/src/rights.table")
  find_program(AWK awk REQUIRED)
  file(GLOB tables CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lua/*/*.table")
  file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lua/*/*.lua")
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" REGEX "^[^/]")
  add_custom_command(OUTPUT "${out}"
    COMMAND sh -c "\"$0\" -v lua=lua -f \"$1\" src/rights.table lua/*/*.table src/*/*.c > \"$2.new\" && mv \"$2.new\" \"$2\""
      "${AWK}" "${tool}" "${out}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS "${tool}" "${said}" ${tables} ${scripts} ${ARGN} VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
