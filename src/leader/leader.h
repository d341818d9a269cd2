/* SPDX-License-Identifier: MIT */
#ifndef LK_LEADER_LEADER_H
#define LK_LEADER_LEADER_H

#include <latchkey/leader.h>

#include <stdatomic.h>

#include "handle/handle.h"

/*
 * A handle on an election: two places of one name. Candidates wait in the fair
 * lock's, those who observe in one of a kind that holds nothing.
 */
struct lk_leader {
    lk__handle seat;    /* the fair lock: campaigns, and who leads */
    lk__handle *watch;  /* on the observers' place */
    atomic_uint refs;   /* the user's, and one for each call and watch */
    uint64_t lease_ms;  /* renewed */
    uint64_t notice_ms; /* 0: a third of each term's lease */
    char *value;
    lk_lost_cb lost;
    void *lost_data;
};

lk_leader *lk__leader_ref(lk_leader *leader);
void lk__leader_unref(lk_leader *leader);

/* NULL, and fork, before anything is touched. ret: where the result goes. */
lk_status lk__leader_check(const lk_leader *leader, const void *ret);

/* Says to those who observe that something has changed. Does not wait. */
void lk__leader_announce(lk_leader *leader, uint64_t term);

/* The kind of those who observe; their mark is the term that they know. */
extern const lk__kind lk__kind_observer;

#endif /* LK_LEADER_LEADER_H */
