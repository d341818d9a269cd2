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

# lk_embed_scripts(<target> <script.lua>...)
#
# Embeds each script in <target> as `const lk__script lk__script_<name>`. Files
# named part_*.lua are fragments and only go into those that use them. Sets
# LK_ALL_SCRIPTS: a source with the list all_scripts[lk__script_count], for those
# who have to know them all.
function(lk_embed_scripts target)
  set(text "#include \"core/script.h\"\n")
  set(index 0)
  set(declared "")
  set(listed "")
  foreach(path IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    get_filename_component(name "${path}" NAME_WE)
    if(name MATCHES "^part_")
      continue()
    endif()
    lk__script_body("${path}" body)
    lk__script_key_count("${path}" key_count)
    lk__script_has_texts("${path}" has_texts)
    string(SHA1 sha1 "${body}")
    string(HEX "${body}" hex)
    string(LENGTH "${hex}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
    string(APPEND text
      "\nstatic const char ${name}_body[] = {${bytes}0};\n"
      "extern const lk__script lk__script_${name};\n"
      "const lk__script lk__script_${name} = {\n"
      "    .name = \"${name}\",\n    .body = ${name}_body,\n"
      "    .size = ${size},\n    .sha1 = \"${sha1}\",\n"
      "    .index = ${index},\n    .key_count = ${key_count},\n"
      "    .has_texts = ${has_texts},\n};\n")
    string(APPEND declared "extern const lk__script lk__script_${name};\n")
    string(APPEND listed "    &lk__script_${name},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND text "\nconst unsigned lk__script_count = ${index};\n")

  set(out "${PROJECT_BINARY_DIR}/generated/scripts.c")
  file(CONFIGURE OUTPUT "${out}" CONTENT "${text}" @ONLY)

  set(list "${PROJECT_BINARY_DIR}/generated/all_scripts.c")
  file(CONFIGURE OUTPUT "${list}" CONTENT "#include \"core/script.h\"\n
extern const lk__script *const all_scripts[];\n${declared}
const lk__script *const all_scripts[] = {\n${listed}};\n" @ONLY)
  set(LK_ALL_SCRIPTS "${list}" PARENT_SCOPE)
  target_sources(${target} PRIVATE "${out}")
endfunction()
