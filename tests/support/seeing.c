/* SPDX-License-Identifier: MIT */
#include "support/seeing.h"

#include <stdlib.h>

#include "support/check.h"

int seeing_setup(void **state)
{
    seeing *f = calloc(1, sizeof(*f));

    *state = f;
    assert_non_null(f);
    f->server = server_start(NULL);
    assert_non_null(f->server);
    f->how.url = server_url(f->server);
    return 0;
}

int seeing_teardown(void **state)
{
    seeing *f = *state;

    for (size_t i = 0; i < f->count; i++)
        keeper_kill(f->keepers[i]);
    tool_free_all();
    server_stop(f->server);
    free(f);
    return 0;
}

pid_t seeing_start(seeing *f, keeper_how how)
{
    how.url = server_url(f->server);
    assert_true(f->count < SEEING_KEEPERS);
    f->keepers[f->count] = keeper_start(&how);
    return f->keepers[f->count++];
}
