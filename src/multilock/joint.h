/* SPDX-License-Identifier: MIT */
#ifndef LK_MULTILOCK_JOINT_H
#define LK_MULTILOCK_JOINT_H

#include <latchkey/multilock.h>

#include "base/alarm.h"
#include "claims/claim.h"
#include "claims/hold_class.h"
#include "claims/place.h"
#include "engine/call.h"
#include "engine/cancel.h"
#include "engine/owner.h"

/*
 * One acquire of several members and, if it succeeds, the hold on all of them.
 *
 * Its mutex guards it, and comes before the clients' monitors: what is called
 * in a monitor, an alarm, never takes it, nor does on_part_lost(), for which a
 * release of its hold waits. Both only leave a note and post the turn, which
 * does what is to be done. User's callbacks run without it.
 */
typedef struct lk__joint lk__joint;

/* A member as it was added; the handle is borrowed. */
typedef struct lk__member {
    enum {
        LK__MEMBER_LOCK,
        LK__MEMBER_FAIRLOCK,
        LK__MEMBER_READ,
        LK__MEMBER_WRITE
    } mode;
    union {
        lk_lock *lock;
        lk_fairlock *fairlock;
        lk_rwlock *rwlock;
    } handle;
    const lk__place *place; /* the handle's */
} lk__member;

/* What one member of an acquire has come to. */
typedef struct lk__part {
    lk__joint *joint;
    lk__member member;
    const lk_acquire_options *options; /* its client's */
    lk_hold *hold;                     /* NULL: not held (any more) */
    lk__claim *claim; /* of the hold, counted: outlives it; NULL: none yet */
    uint64_t fence;
    uint64_t lease_ms; /* fixed; 0: renewed by the watchdog */
} lk__part;

/* What the members of one client have in common. */
typedef struct lk__side {
    lk_client *client; /* counted */
    lk_owner owner;
    lk_cancel cancel; /* ends the acquire's waits, and its tries */
    lk_acquire_options options;
} lk__side;

/* The answers of all members to a release or an extension. */
typedef struct lk__gather {
    lk__joint *joint; /* counted once it is under way */
    atomic_uint refs; /* the waiter, and each answer that is to come */
    lk__call call;
    size_t pending, good;
    lk_status status; /* the worst so far */
    char words[120];
    lk_done_cb cb;
    void *data;
} lk__gather;

enum {
    LK__JOINT_SEEKING,
    LK__JOINT_HELD,
    LK__JOINT_LOST, /* its members are given back, unless one was revoked; the
                       handle is not yet */
    LK__JOINT_ENDED /* released, or never held */
};

struct lk__joint {
    const lk__hold_class *class; /* first, as in every hold */
    pthread_mutex_t mutex;
    atomic_uint refs; /* the user's, and each answer that is to come */
    lk_client *lead;  /* of the first part: its callbacks are the joint's */
    size_t count, side_count, added_count;
    lk__part *parts; /* in the order of their names */
    lk__side *sides;
    size_t *added; /* which part each member that was added is */
    atomic_int phase;
    atomic_bool over;    /* a part is lost; for the turn */
    atomic_bool overdue; /* the wait's time is over; for the turn */
    lk__post turn;       /* inner */

    /* Seeking. */
    char *reason;
    bool try_only;
    uint64_t until;
    size_t prefix;   /* so many first parts are held */
    size_t asked;    /* answers that are to come */
    bool waiting;    /* for the first part behind the prefix */
    bool spoilt;     /* one of the prefix was lost: from the beginning */
    bool aged;       /* something was waited for */
    unsigned agains; /* how often it has begun again */
    size_t failed;   /* the first part that was refused; count: none */
    lk_status why;
    char words[160];
    lk__call call;
    lk__alarm alarm;
    lk_acquire_cb cb;
    void *data;

    /* Held. */
    lk_loss loss;
    uint64_t lost_at;
    bool released;
    lk__post tell; /* the user's */
    lk_lost_cb lost_cb;
    void *lost_data;
    uint64_t notice_ns;
    uint64_t told_deadline; /* for which notice was given */
    bool told_lost;
    int fd;       /* an epoll descriptor over the parts' and the next; or -1 */
    int event_fd; /* readable once the parts' are closed by a loss */
    lk__gather *ending;
};

/* ---- life (joint.c) ---- */

/*
 * Makes one of members in the order of their names. added says which of them
 * each one that was added is, and becomes the joint's. blocking: the calling
 * thread acts. The call's deliver is the caller's to set.
 */
lk_status lk__joint_new(lk__joint **ret_joint, const lk__member *members,
                        size_t count, const lk_acquire_options *options,
                        bool blocking);
void lk__joint_unref(lk__joint *joint);

/* Closes the descriptors. Under the mutex. */
void lk__joint_close(lk__joint *joint);

/* Gives back what the parts from first on hold. Under the mutex. */
void lk__joint_drop(lk__joint *joint, size_t first);

/* The longest time that a request of any client may take, in nanoseconds. */
uint64_t lk__joint_patience_ns(const lk__joint *joint);

/* ---- seeking (seek.c) ---- */

/* Begins. Its call ends once; LK_OK: it is HELD. */
void lk__joint_seek(lk__joint *joint, int64_t wait_ms);

/* Its time is over. Does nothing unless it still seeks. */
void lk__joint_give_up(lk__joint *joint);

/* One of the parts was lost. Under the mutex, SEEKING. */
void lk__joint_spoil(lk__joint *joint);

/* ---- holding (held.c) ---- */

extern const lk__hold_class lk__joint_class;

/* Has the joint learn of the part's loss, and of its end so long before. LK_ENOMEM:
   it would not; never of a part that is watched already. */
lk_status lk__part_watch(lk__part *part, uint64_t notice_ms);

/* Takes the user's callback back if it is due, and waits for the end of one that
   runs in another thread, which may release the joint. Without the mutex. */
void lk__joint_unpost(lk__joint *joint);

void lk__joint_run_turn(lk__post *post);
void lk__joint_run_tell(lk__post *post);

/* Whether a part is lost by now; then when, and why. Needs no mutex. */
bool lk__joint_is_over(const lk__joint *joint, uint64_t *ret_at,
                       lk_loss *ret_loss);

/* ---- gathering (gather.c) ---- */

/* NULL: no memory. Not under way: free it with lk__free(). */
lk__gather *lk__gather_new(lk__joint *joint);

lk_status lk__joint_extend(lk_hold *hold, uint64_t lease_ms);
lk_status lk__joint_extend_async(lk_hold *hold, uint64_t lease_ms,
                                 lk_done_cb cb, void *data);
lk_status lk__joint_release(lk_hold *hold);
lk_status lk__joint_release_async(lk_hold *hold, lk_done_cb cb, void *data);

#endif /* LK_MULTILOCK_JOINT_H */
