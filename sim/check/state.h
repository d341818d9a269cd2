/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_STATE_H
#define LK_SIM_CHECK_STATE_H

#include "check/check.h"
#include "check/map.h"

/* What the checker knows at one moment of the history. */

enum { CHECKER_RULES = 10 };

/* The faults of a process, a name, or all of them. */
typedef struct checker_scope {
    unsigned faults;    /* under way */
    unsigned halts;     /* of these, those in which calls may be late */
    uint64_t halted_at; /* when the first of them began */
    uint64_t calm_at;   /* when the last fault ended */
    uint64_t steady_at; /* when the last halt did */
    unsigned excusing[CHECKER_RULES];   /* faults under way that excuse it */
    uint64_t excused_to[CHECKER_RULES]; /* what was asked for before that */
} checker_scope;

typedef struct checker_process {
    checker_scope scope;
    bool dead;
} checker_process;

typedef struct checker_call checker_call;
typedef struct checker_hold checker_hold;
typedef struct checker_key checker_key;

/* A call that has not ended. */
struct checker_call {
    checker_call *next, *prev; /* of the key */
    checker_key *key;
    checker_process *process;
    history_event invoke;
    uint64_t fence_floor; /* the highest that was known when it began */
    uint64_t most;        /* permits there may have been since */
    uint64_t least;       /* of a latch, when it began */
    uint64_t generation;  /* of a latch, then */
    uint64_t queued_at;   /* it was in the queue; 0: not known */
    uint64_t opened_at;   /* its latch was open, and it may pass; 0: no */
    uint64_t lease_ns;    /* for so long may the server keep what it leaves */
    uint64_t halted_ns;   /* its process stood still before it began to count */
    bool arms;            /* an arrival at a latch that may be unset */
    bool muddied;         /* somebody may have had permits meanwhile */
    bool
        is_heir; /* its client gives back, and so may pass on to it, what others
                     may have ended, before it hears of that */
    history_event overtaker; /* the first; its call 0: nobody */
    uint64_t overtaker_began;
    history_event released; /* of a release: the grant of what it releases */
    history_event rival;    /* and its rival */
};

/* A handle that has not been given back. */
struct checker_hold {
    checker_hold *next, *prev; /* of the key */
    checker_key *key;
    checker_process *process;
    history_event granted;
    uint64_t asked_at;
    uint64_t believed_to; /* as far as is known */
    uint64_t proved_at;   /* when it was last known to be believed */
    uint64_t lease_ns;
    uint64_t permits; /* that there were, when it was granted some */
    uint64_t limit;   /* a lease of its own ends by then; UINT64_MAX: renewed */
    history_mode mode;
    bool told;          /* of its loss */
    bool dead;          /* its process died */
    bool forced;        /* it may have been ended by others */
    uint64_t forced_at; /* it was, by then; 0: not known */
    /* The first that could not be had beside it, and came when its last known
       deadline was over; its call 0: none. */
    history_event rival;
};

typedef enum checker_latch_phase {
    CHECKER_UNSET = 0,
    CHECKER_ARMED, /* or open */
    CHECKER_VAGUE  /* something that is not known may have changed it */
} checker_latch_phase;

typedef struct checker_member {
    uint64_t id;
    bool counted; /* for sure */
} checker_member;

typedef struct checker_latch {
    checker_latch_phase phase;
    unsigned changing;      /* calls under way that make it something else */
    unsigned arming;        /* of these, those that change it only if unset */
    bool loose_arming;      /* one of them may have its effect yet */
    bool loose_change;      /* a reset or a deletion may */
    bool by_reset;          /* it was armed so */
    uint64_t generation;    /* of what is known here */
    uint64_t size;          /* what it was armed with */
    uint64_t armed_at;      /* it was, by then */
    uint64_t most, least;   /* that has been counted */
    uint64_t loose;         /* counted at some time, perhaps not yet */
    uint64_t during;        /* counted while it was changing, */
    bool arrived;           /* and by a member that came */
    uint64_t maybe_open_at; /* when it may have been open last */
    uint64_t open_at;       /* surely since then; 0: not known */
    uint64_t gone_at;       /* when it may have been deleted last */
    unsigned deleting;
    checker_member *members;
    size_t member_count, member_room;
} checker_latch;

struct checker_key {
    checker_scope scope;
    checker_call *calls;
    checker_hold *holds;
    uint64_t fence;         /* the highest of an exclusive hold, or permits */
    history_event fence_of; /* its grant */
    uint64_t written;       /* the highest fence of a write */
    history_event written_of;
    uint64_t maybe_to;  /* somebody may hold it until then whom nobody knows */
    uint64_t forced_to; /* what was asked for before may have been ended */
    uint64_t freed_at;  /* the last one who held it gave it back */
    uint64_t permits;   /* that there are */
    bool permits_vague; /* nobody knows exactly how many */
    uint64_t taken, given; /* of a plain semaphore */
    checker_latch latch;
};

struct checker {
    checker_options options;
    checker_map keys, calls, holds, processes;
    checker_scope scope;
    checker_call *spare_calls;
    checker_hold *spare_holds;
    uint64_t now;
    bool failed; /* no memory */
    checker_violation listed[CHECKER_LISTED];
    size_t listed_count;
    uint64_t total;
    uint64_t together_ns;
};

/* ---- scope.c ---- */

void checker_fault(checker *c, const history_event *event,
                   checker_process *process, checker_key *key);
/* Since when nothing has been done to them; UINT64_MAX: something is. process
   and key may be NULL. */
uint64_t checker_calm_at(const checker *c, const checker_process *process,
                         const checker_key *key);
/* Since when calls of the process have had no reason to be late. */
uint64_t checker_steady_at(const checker *c, const checker_process *process);
/* Whether a rule is claimed for what was asked for then. */
bool checker_claims(const checker *c, checker_rule rule,
                    const checker_process *process, const checker_key *key,
                    uint64_t asked_at);

/* ---- report.c ---- */

/* Events may be NULL at the end. */
void checker_report(checker *c, checker_rule rule, const char *name,
                    const history_event *const events[CHECKER_EVENTS],
                    const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* a - b in seconds, for people; 0 if it is not later. */
double checker_seconds(uint64_t a, uint64_t b);

/* ---- hold.c: who believes what ---- */

void checker_granted(checker *c, checker_call *call,
                     const history_event *event);
void checker_proved(checker *c, checker_hold *hold, const history_event *event);
void checker_told(checker *c, checker_hold *hold, const history_event *event);
/* The call ends the handle, and is told what has to be known of it then. */
void checker_release_begins(checker *c, checker_call *call, checker_hold *hold);
void checker_released(checker *c, const checker_call *call,
                      const history_event *event);
void checker_hold_left(checker *c, const checker_hold *hold, uint64_t at);
/* A write hold becomes a read hold; one that did not, is a write hold again. */
void checker_downgrade(checker *c, checker_hold *hold,
                       const history_event *event);
/* Somebody begins to end holds of the name, or has done it. */
void checker_forced(const checker_call *call, const history_event *event);
bool checker_may_be_forced(const checker_call *call);
/* It is given back: a call that waits for it in that client may get it. */
void checker_bequeath(const checker_hold *hold);
/* Its holder counts on it no more, but the server may still. */
void checker_hold_drop(checker *c, checker_hold *hold);
bool checker_believes(const checker_hold *hold, uint64_t at);
/* Whether two holds keep each other out. */
bool checker_excludes(const checker_hold *one, const checker_hold *other);

/* ---- lease.c ---- */

/* Of one that has been granted: what was asked for, or else that of the hold
   that was entered; 0: not known. */
void checker_lease_set(checker_hold *hold);
/* Whether it is believed for longer than it may be. */
void checker_lease(checker *c, const checker_hold *hold,
                   const history_event *event);
/* An extension has been made, or may have been. */
void checker_extended(checker *c, const checker_call *call,
                      const history_event *event);
/* For so long may the server keep it once it has been asked. */
uint64_t checker_longest_ns(const checker_hold *hold);
/* When a lease of its own ends at the latest, as far as is known then;
   UINT64_MAX: renewed. */
uint64_t checker_limit_at(const checker_hold *hold, uint64_t at);

/* ---- fence.c ---- */

uint64_t checker_fence_floor(const checker *c, const checker_call *call);
void checker_fence(checker *c, const checker_call *call,
                   const checker_hold *hold);
void checker_written(checker *c, const checker_call *call,
                     const history_event *event);
/* A flight has given a value. */
void checker_landed(checker *c, const checker_call *call,
                    const history_event *event);

/* ---- turn.c: who waits ---- */

/* The end of a call, whatever it answered. */
void checker_late(checker *c, const checker_call *call,
                  const history_event *event);
/* The end of an acquire, before anything is made of it. */
void checker_starved(checker *c, const checker_call *call,
                     const history_event *event);
void checker_overtaken(checker *c, checker_call *call,
                       const history_event *event);
void checker_call_left(checker *c, const checker_call *call, uint64_t at);

/* ---- permits.c ---- */

/* Permits that there may have been at some time of the call. */
uint64_t checker_permits(const checker_call *call);
/* It is known to have been believed when it was granted. */
void checker_permits_granted(checker *c, const checker_hold *hold);
void checker_permits_begin(checker *c, checker_call *call);
void checker_permits_end(checker *c, checker_call *call,
                         const history_event *event);

/* ---- latch.c ---- */

void checker_latch_begins(checker *c, checker_call *call);
void checker_latch_ends(checker *c, checker_call *call,
                        const history_event *event);
void checker_latch_left(checker *c, const checker_call *call, uint64_t at);

#endif /* LK_SIM_CHECK_STATE_H */
