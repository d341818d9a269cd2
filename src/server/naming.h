/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_NAMING_H
#define LK_SERVER_NAMING_H

#include <latchkey/client.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whom the sentinels of a group name as the master, and what follows from that.
 * Pure, so that it can be proven by trial. Times are nanoseconds of the local
 * clock.
 *
 * Two majorities of one group have a sentinel in common. It names the old master
 * before it names the new one. So whoever has heard a majority name the new one
 * knows: every question that a majority answered with the old one was sent
 * before that. If each client believes the old one for no longer than
 * LK__BELIEF_MS after it sent such questions, nobody does so LK__BELIEF_MS after
 * a majority began to name the new one.
 */
enum { LK__BELIEF_MS = 3000 };

/* What one sentinel said last. */
typedef struct lk__naming {
    char host[256]; /* "": it names nobody */
    uint16_t port;
    uint64_t asked_at; /* when that question was sent; 0: none was answered */
    uint64_t since;    /* it has named this one since then at the latest */
    uint64_t others;   /* sentinels that it knows beside itself */
    bool tells_others; /* it has said how many; else that is 0 */
} lk__naming;

typedef struct lk__majority {
    const lk__naming *named; /* one of those that name it; NULL: nobody is */
    uint64_t until;          /* it is believed up to then */
    uint64_t from;           /* nobody believes another from then on */
    size_t total, needed;    /* sentinels: all; a majority, */
    size_t heard, votes;     /* that answered, and that name it, or the most */
} lk__majority;

bool lk__naming_same(const lk__naming *a, const lk__naming *b);

/* Whether it answered a question of the last LK__BELIEF_MS. */
bool lk__naming_is_heard(const lk__naming *naming, uint64_t now);

/*
 * Notes the answer to a question that was sent then: the address, host "" for
 * none. Whoever was not heard for too long may have named another meanwhile.
 */
void lk__naming_note(lk__naming *naming, const char *host, uint16_t port,
                     uint64_t asked_at, uint64_t now);

/* It says that it has named this one for so long. */
void lk__naming_aged(lk__naming *naming, uint64_t now, uint64_t age_ms);

/*
 * LK_FAILOVER_SAFE: a majority has to name it, of those listed or of those that
 * the sentinels know, whichever are more. LK_FAILOVER_FAST: most of those that
 * were heard; of as many on both sides the one that is followed, which may be
 * NULL; it is believed for ever and at once.
 */
lk__majority lk__naming_judge(const lk__naming *namings, size_t count,
                              lk_failover failover, const lk__naming *followed,
                              uint64_t now);

#endif /* LK_SERVER_NAMING_H */
