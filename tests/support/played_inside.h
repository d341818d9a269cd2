/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAYED_INSIDE_H
#define LK_TESTS_SUPPORT_PLAYED_INSIDE_H

#include "support/played.h"

/*
 * The inside of a played server: played.c has the connections and the commands,
 * played_model.c what the scripts answer.
 */

enum { PLAYED_SPARE_FENCES = 63 };

/* A command as it came. */
typedef struct played_command {
    int argc;
    const char **argv;
    const size_t *sizes;
} played_command;

void played_say(fake_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The claim waits no more. */
void played_waiter_remove(played *p, const char *owner);

/* EVAL or EVALSHA: as the model answers, or as the test has said. */
void played_answer_script(played *p, fake_link *link, const played_command *c);

#endif /* LK_TESTS_SUPPORT_PLAYED_INSIDE_H */
