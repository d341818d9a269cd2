/* SPDX-License-Identifier: MIT */

/* The release that headers, library and build speak of is one. */

#include <latchkey/version.h>

#include <stdio.h>

#include "support/check.h"
#include "support/paths.h"

CHECK_TEST(the_library_tells_the_version_of_its_headers)
{
    char version[64];

    (void)snprintf(version, sizeof(version), "%d.%d.%d", LK_VERSION_MAJOR,
                   LK_VERSION_MINOR, LK_VERSION_PATCH);
    assert_string_equal(lk_version(), version);
}

CHECK_TEST(the_build_has_the_version_of_the_headers)
{
    assert_string_equal(lk_version(), LK_PROJECT_VERSION);
}
