/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_PROFILE_H
#define SIM_PLAY_PROFILE_H

#include <stdbool.h>

/* What actors acquire. */
typedef enum sim_primitive {
    SIM_LOCK,
    SIM_SPINLOCK, /* a lock whose handle does not queue */
    SIM_FAIRLOCK,
    SIM_LEADER,
    SIM_READ,
    SIM_UPGRADEABLE,
    SIM_WRITE,
    SIM_SEMAPHORE,
    SIM_SIGLOCK,
    SIM_STRIPE,
    SIM_MULTILOCK,
    SIM_LATCH,
    SIM_PLAIN,
    SIM_REDLOCK,
    SIM_BARRIER, /* a latch whose members arrive */
    SIM_CELL,
    SIM_FLIGHT,
    SIM_TIMED,    /* a latch that ends */
    SIM_OBSERVER, /* of an election */
    SIM_PRIMITIVES
} sim_primitive;

/* Which of them a run has. */
typedef enum sim_profile {
    SIM_PROFILE_LOCK,
    SIM_PROFILE_FAIRLOCK,
    SIM_PROFILE_RWLOCK,
    SIM_PROFILE_SEMAPHORE,
    SIM_PROFILE_SIGLOCK,
    SIM_PROFILE_STRIPES,
    SIM_PROFILE_MULTILOCK, /* with one server, or three */
    SIM_PROFILE_LATCH,
    SIM_PROFILE_PLAIN,
    SIM_PROFILE_REDLOCK, /* with three servers; the rest have one */
    SIM_PROFILE_BARRIER,
    SIM_PROFILE_CELL,
    SIM_PROFILE_FLIGHT,
    SIM_PROFILE_EXPORT,   /* of locks, semaphores, siglocks or read-write locks,
                           again and again */
    SIM_PROFILE_LIMIT,    /* locks, at a clock that comes to the last fence */
    SIM_PROFILE_TIMED,    /* latches with a time, at a clock that is set */
    SIM_PROFILE_NAMELESS, /* locks, at a server that does not say its run id */
    SIM_PROFILE_NEWBORN,  /* redlocks, of servers that come back as if they had
                             been there for long */
    SIM_PROFILE_TURNS,    /* read-write locks that are upgraded, extended and
                             downgraded all the time */
    SIM_PROFILE_EXTENDED, /* those whose extension is far longer than their lease,
                             which is short, and troubles that are longer yet */
    SIM_PROFILE_ELECTION, /* leaders, and others that observe them */
    SIM_PROFILES,
    SIM_PROFILE_ALL = SIM_PROFILES /* by the seed, one of them */
} sim_profile;

const char *sim_primitive_word(sim_primitive primitive);
const char *sim_profile_word(sim_profile profile);

/* False: there is none of that name. */
bool sim_profile_find(const char *word, sim_profile *ret_profile);

#endif /* SIM_PLAY_PROFILE_H */
