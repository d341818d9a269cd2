/* SPDX-License-Identifier: MIT */

/* Tests over the rows of kind.h; see stand.h. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/stand.h"

enum { TITLE = 128 };

bool stand_is_any(const kind *k)
{
    (void)k;
    return true;
}

bool stand_is_held(const kind *k)
{
    return k->has_hold;
}

bool stand_is_queued(const kind *k)
{
    return k->is_queued;
}

bool stand_is_shared(const kind *k)
{
    return k->has_hold && k->acquire != k->shut;
}

/* A test over a row, as cmocka has it. */
typedef struct row {
    char title[TITLE];
    const kind *kind;
    const stand_test *test;
} row;

static void row_run(void **state)
{
    stand *s = *state;

    s->test->run(s);
}

static int row_setup(void **state)
{
    const row *r = *state;
    void *at = (void *)(uintptr_t)r->kind;
    int failed = stand_setup(&at);

    if (failed == 0)
        ((stand *)at)->test = r->test;
    *state = at;
    return failed;
}

int stand_run(const char *group, const stand_test *tests, size_t count)
{
    row *rows = calloc(KINDS * count, sizeof(*rows));
    struct CMUnitTest *all = calloc(KINDS * count, sizeof(*all));
    size_t n = 0;
    int failed;

    if (rows == NULL || all == NULL)
        abort();
    for (unsigned i = 0; i < KINDS * count; i++) {
        const kind *k = kinds[i / count];
        const stand_test *t = &tests[i % count];

        if ((k->acquire == NULL && t->is_for != stand_is_any) ||
            (t->is_for != NULL && !t->is_for(k)))
            continue;
        rows[n] = (row){.kind = k, .test = t};
        (void)snprintf(rows[n].title, TITLE, "%s.%s", k->word, t->name);
        all[n] = (struct CMUnitTest){rows[n].title, row_run, row_setup,
                                     stand_teardown, &rows[n]};
        n++;
    }
    failed = check_run(group, all, n, NULL, stand_stop_servers);
    free(all);
    free(rows);
    return failed;
}
