/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_WALK_H
#define LK_INSPECT_WALK_H

#include "base/slot.h"
#include "inspect/probe.h"

/*
 * Going through the key space by SCAN, one small step after the other: of the
 * server, or of all masters of a cluster at once. A part of a probe.
 *
 * SCAN tells of every key that is there from its begin to its end. In a cluster
 * a key may go from a master that has not told of it to one that has told
 * already. So every master is asked before and after which slots it has and
 * which are half moved. Those that moved meanwhile, or may have, are gone
 * through again: a master from which a slot goes first, and when it has told
 * all, the one to which it goes. Then a key is at the first until it has told of
 * it, or has been at the second since it began. Only what changes again is gone
 * through once more, for as long as a master that is away is waited for. A slot
 * that has left a master and come back meanwhile has changed: the master's epoch
 * tells.
 */
typedef struct lk__walk lk__walk;

enum { LK__WALK_FINDS = 3 }; /* sorts of keys, at most */

struct lk__walk {
    lk__probe *probe;
    struct {
        const char *type;
        char *match; /* owned */
    } finds[LK__WALK_FINDS];
    size_t find_count;
    /* A key was found, perhaps not for the first time; of which of the sorts. */
    void (*found)(lk__walk *walk, size_t find, const redisReply *key);
    /* All were. */
    void (*over)(lk__walk *walk);
    bool is_full; /* set by found: no more is wanted */

    struct lk__walk_part *first; /* one for each node */
    unsigned left;               /* answers that a step waits for */
    unsigned round, checks;
    uint64_t until; /* when slots that move on and on are given up, at the
                       earliest */
    bool seconds; /* the masters to which slots go; else those that have them */
    lk__nap nap;
    struct lk__walk_map *map; /* in a cluster */
};

/* Begins, in the probe's begin. The finds and what it calls are set. */
void lk__walk_begin(lk__walk *walk, lk__probe *probe);

/* Lets go of what it has. */
void lk__walk_done(lk__walk *walk);

/* The time of a key's server when the walk met it first, in ms; 0: unknown. */
uint64_t lk__walk_ms(const lk__walk *walk, const char *key);

#endif /* LK_INSPECT_WALK_H */
