# SPDX-License-Identifier: MIT

# lk__script_read(<path> <out>)
#
# Reads a script without the lines that only a reader needs: those that are
# blank or hold nothing but a comment.
function(lk__script_read path out)
  file(READ "${path}" text)
  if(text MATCHES "--\\[=*\\[")
    message(FATAL_ERROR "${path}: no long comments, they are not stripped")
  endif()
  string(REPLACE "\r" "" text "\n${text}\n")
  string(REGEX REPLACE "\n[ \t]*--[^\n]*" "\n" text "${text}")
  string(REGEX REPLACE "\n([ \t]*\n)+" "\n" text "${text}")
  string(REGEX REPLACE "^\n" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# lk__script_key_count(<path> <out>)
#
# Returns the highest n of the header's `-- KEYS[n]` lines, 0 if there are
# none: the file that uses a key is the one that counts it.
function(lk__script_key_count path out)
  file(STRINGS "${path}" lines REGEX "^-- KEYS\\[[0-9]+\\]")
  # Without brackets, which keep the elements of a list together.
  string(REGEX REPLACE "-- KEYS.([0-9]+)." "-- KEYS \\1 " lines "${lines}")
  string(REGEX MATCHALL "-- KEYS [0-9]+" lines "${lines}")
  set(count 0)
  foreach(line IN LISTS lines)
    string(REPLACE "-- KEYS " "" n "${line}")
    if(n GREATER count)
      set(count ${n})
    endif()
  endforeach()
  set(${out} ${count} PARENT_SCOPE)
endfunction()

# lk__script_has_texts(<path> <out>)
#
# Returns whether the header has a `-- texts:` line, which says what the script
# answers beside numbers: 1 or 0.
function(lk__script_has_texts path out)
  file(STRINGS "${path}" lines REGEX "^-- texts:")
  set(${out} 0 PARENT_SCOPE)
  if(lines)
    set(${out} 1 PARENT_SCOPE)
  endif()
endfunction()

# lk__script_body(<path> <out>)
#
# Returns what the server gets to see: the fragments that the header's
# `-- uses: part_a part_b` names, in that order, then the script.
function(lk__script_body path out)
  get_filename_component(folder "${path}" DIRECTORY)
  file(STRINGS "${path}" uses REGEX "^-- uses:")
  string(REGEX MATCHALL "part_[a-z0-9_]+" uses "${uses}")
  set(body "")
  foreach(part IN LISTS uses)
    lk__script_read("${folder}/${part}.lua" text)
    string(APPEND body "${text}")
  endforeach()
  lk__script_read("${path}" text)
  set(${out} "${body}${text}" PARENT_SCOPE)
endfunction()

# lk__script_c(<symbol> <name> <body> <index> <key_count> <has_texts> <out>)
#
# Returns the C that defines one script.
function(lk__script_c symbol name body index key_count has_texts out)
  string(SHA1 sha1 "${body}")
  string(HEX "${body}" hex)
  string(LENGTH "${hex}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(CONCAT text
    "\nstatic const char ${symbol}_body[] = {${bytes}0};\n"
    "extern const lk__script ${symbol};\n"
    "const lk__script ${symbol} = {\n"
    "    .name = \"${name}\",\n    .body = ${symbol}_body,\n"
    "    .size = ${size},\n    .sha1 = \"${sha1}\",\n"
    "    .index = ${index},\n    .key_count = ${key_count},\n"
    "    .has_texts = ${has_texts},\n};\n")
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

# lk_embed_scripts(<target> TABLES <family>... SCRIPTS <script.lua>...)
#
# Embeds in <target> each script of a table as `const lk__script
# lk__<family>_<script>_script`, with what C needs of its table, and each other
# one as `const lk__script lk__script_<name>`. Files named part_*.lua are
# fragments and only go into those that use them. Sets LK_ALL_SCRIPTS: a source
# with the list all_scripts[lk__script_count], for those who have to know them
# all.
function(lk_embed_scripts target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "TABLES;SCRIPTS")
  set(tables "${PROJECT_BINARY_DIR}/generated/tables")
  set(text "#include \"base/script.h\"\n")
  set(index 0)
  set(declared "")
  set(listed "")
  lk__tables_make("${tables}" ${ARG_TABLES})
  target_sources(${target} PRIVATE "${tables}/shared_table.c")
  foreach(family IN LISTS ARG_TABLES)
    lk__table_scripts(${family} names)
    foreach(name IN LISTS names)
      file(READ "${tables}/${family}_${name}.lua" body)
      set(symbol "lk__${family}_${name}_script")
      lk__script_c("${symbol}" "${family}_${name}" "${body}" ${index} 0 1 one)
      string(APPEND text "${one}")
      string(APPEND declared "extern const lk__script ${symbol};\n")
      string(APPEND listed "    &${symbol},\n")
      math(EXPR index "${index} + 1")
    endforeach()
    target_sources(${target} PRIVATE "${tables}/${family}_table.c")
  endforeach()
  foreach(path IN LISTS ARG_SCRIPTS)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    get_filename_component(name "${path}" NAME_WE)
    if(name MATCHES "^part_")
      continue()
    endif()
    lk__script_body("${path}" body)
    lk__script_key_count("${path}" key_count)
    lk__script_has_texts("${path}" has_texts)
    set(symbol "lk__script_${name}")
    lk__script_c("${symbol}" "${name}" "${body}" ${index} ${key_count}
      ${has_texts} one)
    string(APPEND text "${one}")
    string(APPEND declared "extern const lk__script ${symbol};\n")
    string(APPEND listed "    &${symbol},\n")
    math(EXPR index "${index} + 1")
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
  file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lua/*.lua"
    "${PROJECT_SOURCE_DIR}/lua/*/*.lua")
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/" REGEX "^[^/]")
  add_custom_command(OUTPUT "${out}"
    COMMAND sh -c "\"$0\" -v lua=lua -f \"$1\" src/rights.table lua/*/*.table src/*/*.c > \"$2.new\" && mv \"$2.new\" \"$2\""
      "${AWK}" "${tool}" "${out}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS "${tool}" "${said}" ${tables} ${scripts} ${ARGN} VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()
