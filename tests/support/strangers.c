/* SPDX-License-Identifier: MIT */
#include "support/strangers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

#define QUEUE "latchkey:{n}:q"
#define NONCE "0123456789abcdef"

enum { FIELD = 200 };

/* Letters of members; behind them texts, in which ? is a letter of the family. */
static const char letters[] = "lfwurxpct";

static const char *const texts[] = {
    "x:1 " NONCE " ?? 1 30000 - p two letters",
    "x " NONCE " ? 1 30000 - p a claim without a number",
    "x:y " NONCE " ? 1 30000 - p a claim with another number",
    "x:1 " NONCE " ? 1 9999999999999999 - p a lease without an end",
    "x:1 " NONCE " ? 1 -1 - p a lease below 0",
    "x:1 " NONCE " ?",
    "?",
    " ",
};

enum {
    LETTERS = sizeof(letters) - 1,
    TEXTS = sizeof(texts) / sizeof(texts[0])
};

static void put(script_fixture *f, int band, const char *text)
{
    assert_like(script_redis(f, "EVAL %s 1 " QUEUE " %d %s",
                             "local t = redis.call('TIME')"
                             " local at = math.floor((t[1] * 1000000 + t[2])"
                             " / 16)"
                             " redis.call('ZADD', KEYS[1], string.format("
                             "'%.0f', ARGV[1] * 2 ^ 48 + at), ARGV[2])"
                             " return redis.call('PEXPIRE', KEYS[1], 660000)",
                             band, text),
                "1");
}

const char *stranger_put(script_fixture *f, size_t i, int band,
                         const char *modes, bool *ret)
{
    static char text[FIELD];

    if (i >= LETTERS + TEXTS)
        return NULL;
    if (i < LETTERS)
        snprintf(text, sizeof(text), "x:1 " NONCE " %c 1 30000 - p because",
                 letters[i]);
    else
        snprintf(text, sizeof(text), "%s", texts[i - LETTERS]);
    for (char *mark = text; (mark = strchr(mark, '?')) != NULL;)
        *mark = modes[0];
    *ret = i >= LETTERS || strchr(modes, letters[i]) == NULL;
    if (*ret)
        put(f, band, text);
    return text;
}

long long strangers_parked(script_fixture *f)
{
    return strtoll(script_redis(f, "ZCOUNT " QUEUE " %s (%s",
                                "2251799813685248", "2533274790395904"),
                   NULL, 10);
}

void strangers_crowd(script_fixture *f, int band, int count)
{
    char text[FIELD];

    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "x:%d " NONCE " z 1 30000 - p because", i);
        put(f, band, text);
    }
}
