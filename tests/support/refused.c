/* SPDX-License-Identifier: MIT */
#include "support/refused.h"

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { DEADLINE_MS = 20000, TRY_MS = 20 };

typedef struct sought {
    lk_client *client;
    lk_status status;
    const char *words;
} sought;

static bool is_said(void *data)
{
    const sought *s = data;

    return lk_client_wait_ready(s->client, TRY_MS) == s->status &&
           strstr(lk_last_error(), s->words) != NULL;
}

void assert_refused(lk_client *client, lk_status status, const char *words)
{
    sought s = {client, status, words};

    if (wait_until(is_said, &s, DEADLINE_MS))
        return;
    assert_status(lk_client_wait_ready(client, TRY_MS), status);
    assert_string_equal(lk_last_error(), words);
}
