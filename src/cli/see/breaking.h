/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_BREAKING_H
#define LK_CLI_BREAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/line.h"

/* What `latchkey break` was asked for. */
struct values {
    bool yes, all, dry_run, now;
    const char *owner;
    const char *why; /* NULL: not said */
};

/* One run: what was seen, and what is to be done about it. */
struct breaking {
    const cli *c;
    const struct values *values;
    lk_client *client;
    const char *name;
    lk_kind kind;
    const lk_info *info;
    int64_t begun_ns, said_ns; /* of the wait; when it was last told of */
    cli_line line;
};

/* Whether a holder is one whose hold is to be ended. */
bool break_is_meant(const struct breaking *b, const lk_party *party);

size_t break_count_meant(const struct breaking *b);

/* The one of that id, as it was seen at the begin; NULL: a permit of one. */
const lk_party *break_party(const struct breaking *b, const char *owner);

/* Says of which holds no process is known, if they would be waited for, and what
   can be done. Returns what is to be asked before. */
const char *break_question(const struct breaking *b);

/* Says what is waited for: on a terminal in a line that is drawn again. */
void break_say_wait(struct breaking *b, const char *owner, int64_t left_ms);

/* Says what was done. */
void break_say_done(const struct breaking *b);

#endif /* LK_CLI_BREAKING_H */
