/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_SILENT_H
#define LK_INSPECT_SILENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/*
 * Which of those in a queue are silent, for a list: the rule of
 * lua/shared/silent.lua as of the time when the list was begun. What was heard
 * later was heard in time. Nothing here talks to anybody.
 */

/* Members whose ticket is no sign of life, by the marks that are to be asked for:
   that of a jump of the clock first, then that of each one's client. */
typedef struct lk__suspects {
    size_t count;       /* of marks */
    const char **marks; /* one block, with the texts; owned */
} lk__suspects;

/* Of members and scores in turn. begun_ms: of the server's clock; 0: unknown,
   and nobody is suspected. False: no memory. */
bool lk__suspects_find(lk__suspects *suspects, const redisReply *rows,
                       uint64_t begun_ms);

/* How many of them are silent, by the scores of the marks. */
size_t lk__suspects_judge(const redisReply *scores, uint64_t begun_ms);

void lk__suspects_free(lk__suspects *suspects);

#endif /* LK_INSPECT_SILENT_H */
