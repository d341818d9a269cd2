/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_HISTORY_H
#define LK_SIM_CHECK_HISTORY_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A history: what processes asked for, what they were answered, what they
 * believed and what was done to them, as a list of events of one size. One
 * that was simulated and one of real processes look the same.
 *
 * All times are nanoseconds of one clock: CLOCK_BOOTTIME of one machine, or the
 * simulator's true time, into which the clocks of its processes are turned.
 * Ids are the writer's, never 0 where something is meant, and never used
 * again in one history.
 */

/* How far something has got. */
typedef enum history_phase {
    HISTORY_EMPTY = 0, /* a place in a file that was not written */
    HISTORY_INVOKE,    /* a call begins; at: before it was made */
    HISTORY_OK,        /* it has answered LK_OK; at: after its return */
    HISTORY_FAIL,      /* it has answered that it had no effect, or has none
                          any more */
    HISTORY_UNKNOWN,   /* it may have had an effect, or may have one yet */
    HISTORY_EVENT,     /* something happened; see call */
    HISTORY_PHASES
} history_phase;

/*
 * What the event is about. Calls have an INVOKE and one end with the same
 * operation; a call of a process that died has none.
 */
typedef enum history_call {
    HISTORY_NO_CALL = 0,
    /* INVOKE: mode, count (permits), lease_ms, deadline of the call. OK: hold,
       fence, deadline of the hold, lease_ms; 0: that of the hold which was
       entered, or not known. Of a latch: a wait. */
    HISTORY_ACQUIRE,
    HISTORY_RELEASE,   /* INVOKE: hold. FAIL: LK_ELOST */
    HISTORY_EXTEND,    /* hold; INVOKE: lease_ms; OK: deadline of the hold */
    HISTORY_DOWNGRADE, /* hold: a write hold becomes a read hold */
    HISTORY_EXPORT,    /* hold: its handle ends, and it lives on */
    /* Ends holds of others: hold, or 0 for all of them. deadline, of OK: what
       was asked for before may have been a part of them; 0: before OK */
    HISTORY_FORCE,
    HISTORY_RESIZE, /* count: permits that there are from now on */
    HISTORY_ARM,    /* a latch: count */
    HISTORY_COUNT,  /* counts a latch down by count */
    HISTORY_ARRIVE, /* hold: the member; count: members expected */
    HISTORY_RESET,  /* arms a latch again: count */
    HISTORY_DELETE, /* a latch is unset */
    HISTORY_ASK,    /* OK: count: what is left of a latch, or the permits
                          that are free, as int64_t; fence: the run whose
                          value a flight gave */
    HISTORY_GIVE,   /* count permits of a plain semaphore come back */
    HISTORY_WRITE,  /* to what the lock guards, with this fence. OK: it was
                          accepted */
    /* EVENT only: */
    HISTORY_CHECKED, /* lk_hold_check() said OK of hold; at: before it was
                        asked; deadline: what was left then, 0: not asked */
    HISTORY_LOST,    /* hold: its holder was told */
    HISTORY_QUEUED,  /* operation: its wait was seen in the server's queue; at:
                        after it was seen */
    HISTORY_DIED,    /* the process was killed */
    /* Something is done to process, or with 0 to all of them, from INVOKE to
       OK. count: rules that are not claimed for what was asked for before
       deadline, which is in OK, and until then; see check.h. 0: calls may be
       late, and waiters missed. key: 0, or the only name */
    HISTORY_FAULT,
    HISTORY_CALLS
} history_call;

typedef enum history_kind {
    HISTORY_NO_KIND = 0,
    HISTORY_LOCK,
    HISTORY_FAIRLOCK,
    HISTORY_RWLOCK,
    HISTORY_SEMAPHORE,
    HISTORY_PLAIN, /* a plain semaphore: an acquire has no hold */
    HISTORY_LATCH,
    HISTORY_REDLOCK,
    HISTORY_SIGLOCK,
    HISTORY_LEADER,
    HISTORY_STRIPES,
    HISTORY_MULTILOCK,
    /* What is computed once for all: an acquire is a run, from its start to its
       release. */
    HISTORY_FLIGHT,
    HISTORY_KINDS
} history_kind;

/* How something is held. */
typedef enum history_mode {
    HISTORY_EXCLUSIVE = 0,
    HISTORY_READ,
    HISTORY_UPGRADEABLE,
    HISTORY_WRITER,
    HISTORY_PERMITS /* count of them */
} history_mode;

/* Bits of flags. */
enum {
    HISTORY_RENEWED = 1, /* the hold has no lease of its own: lease_ms is the
                            watchdog's */
    HISTORY_WATCHED = 2  /* the holder is told of its loss by a callback */
};

enum { HISTORY_NAME = 24 };

typedef struct history_event {
    uint64_t at;
    uint64_t sequence; /* grows with each event of a process */
    uint64_t operation;
    uint64_t key;  /* history_key() */
    uint64_t hold; /* each handle is another one */
    /* Whoever is not kept from each other. An acquire for nobody in particular
       has one of its own. */
    uint64_t owner;
    uint64_t fence;    /* 0: none */
    uint64_t deadline; /* 0: none, or not known */
    uint64_t lease_ms;
    uint64_t count;
    uint32_t process;
    uint32_t client;
    int32_t status; /* lk_status */
    uint8_t phase;  /* history_phase; written last */
    uint8_t call;   /* history_call */
    uint8_t kind;   /* history_kind */
    uint8_t mode;   /* history_mode */
    uint32_t flags;
    uint32_t db;
    char name[HISTORY_NAME]; /* the begin of the name, for people */
} history_event;

static_assert(sizeof(history_event) == 128, "files hold records of 128 bytes");

/* The id of a name in a database. Never 0. */
uint64_t history_key(const char *name, uint32_t db);

/* One line. */
void history_print(FILE *file, const history_event *event);
/* "fairlock"; static. */
const char *history_kind_word(unsigned kind);

#endif /* LK_SIM_CHECK_HISTORY_H */
