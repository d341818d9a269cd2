/* SPDX-License-Identifier: MIT */

/* The release that headers, library and build speak of is one. */

#include <latchkey/version.h>

#include <stdio.h>

#include "support/check.h"

static void the_library_tells_the_version_of_its_headers(NO_STATE)
{
    char version[64];

    (void)snprintf(version, sizeof(version), "%d.%d.%d", LK_VERSION_MAJOR,
                   LK_VERSION_MINOR, LK_VERSION_PATCH);
    assert_string_equal(lk_version(), version);
}

static void the_build_has_the_version_of_the_headers(NO_STATE)
{
    assert_string_equal(lk_version(), LK_PROJECT_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_tells_the_version_of_its_headers),
        cmocka_unit_test(the_build_has_the_version_of_the_headers),
    };

    return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
