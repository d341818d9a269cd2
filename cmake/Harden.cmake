# SPDX-License-Identifier: MIT
#
# lk_harden(<interface target>): what compiler and linker can do in a release
# build so that a memory error ends a program instead of running on. Each flag
# is used where it is known. tools/check-hardening.sh looks at the outcome.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)

function(lk_harden target)
  set(release "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  set(CMAKE_REQUIRED_QUIET ON)

  foreach(flag -fstack-protector-strong -fstack-clash-protection
      -fcf-protection)
    string(MAKE_C_IDENTIFIER "LK_HAS${flag}" known)
    check_c_compiler_flag("-Werror ${flag}" ${known})
    if(${known})
      target_compile_options(${target} INTERFACE "$<${release}:${flag}>")
    endif()
  endforeach()

  # Level 3 where the C library has it; it warns where it does not. What the
  # distribution's compiler sets by itself makes way.
  set(CMAKE_REQUIRED_FLAGS "-Werror -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <stdio.h>
    int main(void) { return 0; }" LK_HAS_FORTIFY_3)
  set(level 2)
  if(LK_HAS_FORTIFY_3)
    set(level 3)
  endif()
  target_compile_options(${target} INTERFACE
    "$<${release}:-U_FORTIFY_SOURCE>" "$<${release}:-D_FORTIFY_SOURCE=${level}>")

  target_link_options(${target} INTERFACE
    "$<${release}:LINKER:-z,relro,-z,now,-z,noexecstack>")
endfunction()

# Programs as position-independent ones.
check_pie_supported(LANGUAGES C)
