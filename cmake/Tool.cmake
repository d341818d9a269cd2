# SPDX-License-Identifier: MIT

# The command-line tool.

# The tool loads it when it serves: what is needed here is its header, and the
# name under which it is loaded.
include(FindHttp)

# The library in it, and what that needs: a start that looks up fewer symbols.
# All but main() is an archive, of which tests take what they look at from inside.
file(GLOB_RECURSE LK_CLI_SOURCES CONFIGURE_DEPENDS src/cli/*.c)
list(FILTER LK_CLI_SOURCES EXCLUDE REGEX "/cli/main\\.c$")
if(LK_MICROHTTPD)
  list(FILTER LK_CLI_SOURCES EXCLUDE REGEX "/http/none\\.c$")
else()
  list(FILTER LK_CLI_SOURCES EXCLUDE REGEX "/http/(guests|mhd(_[a-z]+)?)\\.c$")
endif()
add_library(latchkey_cli_parts STATIC ${LK_CLI_SOURCES})
lk_embed_page(latchkey_cli_parts "${PROJECT_SOURCE_DIR}/src/cli/see/serve.html"
  cli_serve_page)
foreach(file bash/latchkey.bash zsh/_latchkey fish/latchkey.fish)
  get_filename_component(shell ${file} DIRECTORY)
  get_filename_component(name ${file} NAME)
  lk_embed_page(latchkey_cli_parts "${PROJECT_SOURCE_DIR}/completions/${name}"
    cli_completion_${shell})
endforeach()
lk_embed_rights(latchkey_cli_parts ${LK_SOURCES})
add_executable(latchkey_cli src/cli/main.c)
set_target_properties(latchkey_cli PROPERTIES OUTPUT_NAME latchkey)
target_include_directories(latchkey_cli_parts
  PUBLIC "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(latchkey_cli_parts PUBLIC lk_settings latchkey_static)
if(LK_MICROHTTPD)
  target_compile_definitions(latchkey_cli_parts
    PRIVATE LK_MICROHTTPD="${LK_MICROHTTPD}")
  target_include_directories(latchkey_cli_parts SYSTEM
    PRIVATE ${MICROHTTPD_INCLUDE_DIRS})
  target_link_libraries(latchkey_cli_parts PUBLIC ${CMAKE_DL_LIBS})
endif()
target_link_libraries(latchkey_cli PRIVATE latchkey_cli_parts)
