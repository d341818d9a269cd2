/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CAUSE_H
#define LK_CLI_CAUSE_H

#include <latchkey/latchkey.h>

#include <stdbool.h>

/*
 * Why a call failed, and what to do about it, as far as the words of the library
 * tell more than its status.
 */
typedef struct cli_cause {
    const char *words;  /* what happened; NULL: what the library says */
    const char *advice; /* what to do; NULL: what the status says */
} cli_cause;

/* words: of the library. server: as lk_url_describe() writes it; what is there
   is asked where that helps. */
cli_cause
cli_cause_find(lk_status status, const char *words, const char *server);

/* Whether the library says that a sentinel refuses the client. A server names the user
   that lacks a right, whose name may be any. */
bool cli_cause_is_sentinels(const char *words);

#endif /* LK_CLI_CAUSE_H */
