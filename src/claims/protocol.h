/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_PROTOCOL_H
#define LK_CLAIMS_PROTOCOL_H

#include "claims/claim.h"
#include "claims/question.h"

/*
 * What is said to the server about claims and names, and what its answers mean.
 * A claim's life is in the claim_*.c; they know no script, no key and no place
 * of an argument. All of that is here and in what a family has of it.
 *
 * A function that asks writes the client's question and returns it; NULL: there
 * is no memory, or the kind has no such script. One that reads has an answer
 * without an error before it, and returns LK_EPROTO for one that is none.
 */

/* What the server is to do for one that cannot have it at once. */
enum {
    LK__HOW_QUEUE = 'q',
    LK__HOW_TRY = 't',
    LK__HOW_YIELD = 'y', /* does not take it in the others' turn, either */
    LK__HOW_SPIN = 's'   /* the same as a try, and notes that somebody spins */
};

/* Of one that waits. */
typedef enum lk__next {
    LK__NEXT_NOT,  /* it is not next, or the holder hands over */
    LK__NEXT_HELD, /* it is next, and the holder will not hand over */
    LK__NEXT_FREE  /* it is next, and the name is left to others for now */
} lk__next;

/* What an acquire or a look was answered. */
typedef struct lk__seek_answer {
    enum {
        LK__SEEK_QUEUED,
        LK__SEEK_HELD,
        LK__SEEK_BUSY, /* it neither has it nor waits */
        LK__SEEK_GONE, /* the server does not know it */
        LK__SEEK_ENDS  /* what it asks for cannot be had: see end */
    } what;
    int64_t left_ms; /* HELD: of its lease; else of the holder's, below 0: it is
                        not known */
    uint64_t ticket;
    lk__next next;
    bool more; /* there was more to hand over than a call may do */
    uint64_t fence, top_fence;
    lk_status end;
    int64_t all; /* ENDS: the number that was found; 0: it is not said */
    bool found;  /* HELD: it was granted before, perhaps for the claim lease */
} lk__seek_answer;

typedef struct lk__keep_answer {
    bool is_held;
    lk_loss loss;  /* where it is not */
    bool is_alone; /* nobody waits for it at the server */
    bool is_apart; /* its lease has a key of its own, and keeps it */
    uint64_t top_fence;
    uint64_t most_ms; /* of the lease asked for only so much is kept; 0: all */
} lk__keep_answer;

/* For how long it is held, of the lease that was asked for. */
static inline uint64_t
lk__kept_ms(const lk__keep_answer *answer, uint64_t asked_ms)
{
    return answer->most_ms > 0 && answer->most_ms < asked_ms ? answer->most_ms
                                                             : asked_ms;
}

/* What a release, a leave or a force was answered. */
typedef struct lk__close_answer {
    bool was_held;
    bool more; /* to hand over than a call may do */
} lk__close_answer;

/* What a touch says of all. */
typedef struct lk__touch_answer {
    int64_t left_ms;
    bool more;   /* others may come in as well: look again at once */
    size_t turn; /* whose turn it is to look for itself; none: the count */
} lk__touch_answer;

typedef struct lk__import_answer {
    bool is_held;
    uint64_t fence, top_fence;
    int64_t left_ms;  /* of the lease: less than was asked for if it was asked
                        before */
    uint64_t need;    /* so many permits; 0: it has none */
    const char *mode; /* static; NULL: the kind has no more than one */
} lk__import_answer;

typedef struct lk__revoke_answer {
    bool is_held;
    int64_t left_ms; /* LK_FOREVER: its holder cannot be told, and may go on */
} lk__revoke_answer;

typedef enum lk__forget_what {
    LK__FORGET_NOTHING,
    LK__FORGET_DONE,
    LK__FORGET_HELD,   /* by owner, for another left_ms */
    LK__FORGET_WAITED, /* number wait, or did a moment ago */
    LK__FORGET_SET     /* with number permits that are free */
} lk__forget_what;

typedef struct lk__forget_answer {
    lk__forget_what what;
    const char *owner;
    int64_t left_ms, number;
} lk__forget_answer;

/* A holder or a waiter; a NUL stands behind each text. */
typedef struct lk__party_answer {
    lk__text owner, reason, mode; /* v in mode: it is revoked */
    int64_t count, fence, since_ms, left_ms;
} lk__party_answer;

/* The holders and the waiters, which are read out of the same reply one by one. */
typedef struct lk__info_answer lk__info_answer;
struct lk__info_answer {
    size_t holder_count, waiter_count; /* that are told */
    int64_t number;                    /* of all that wait */
    void (*holder)(const lk__info_answer *info, size_t i,
                   lk__party_answer *ret);
    void (*waiter)(const lk__info_answer *info, size_t i,
                   lk__party_answer *ret);
    const redisReply *reply;
    lk__list holders, waiters; /* in it, where a table says its shape */
};

/* At most, in one question. */
enum { LK__TOUCH_CLAIMS = 128, LK__RENEW_CLAIMS = 32 };

/* Which holds of a renewal of many are lost, by their keys in the question, from 1,
   and why. */
typedef struct lk__lost_answer {
    size_t count;
    struct {
        int64_t key, code;
    } all[2 * LK__RENEW_CLAIMS];
} lk__lost_answer;

/* The code of a renewal that cannot tell by the hold's own key alone whether it is
   lost: it is to be kept whole. */
enum { LK__RENEW_UNSURE = 5 };

typedef struct lk__protocol {
    /* ---- seeking ---- */

    lk__question *(*acquire)(const lk__claim *claim, char how);
    lk__question *(*look)(const lk__claim *claim);
    lk_status (*read_seek)(const lk__claim *claim, const redisReply *reply,
                           lk__seek_answer *ret);

    /* Many that wait, in one call. */
    lk__question *(*touch)(const struct lk__place *place,
                           lk__claim *const *claims, size_t count);
    lk_status (*read_touch)(const redisReply *reply, size_t count,
                            lk__touch_answer *ret);
    /* Of one of them: its ticket; 0: it has to look for itself. */
    uint64_t (*read_ticket)(const redisReply *reply, size_t i);

    /* ---- holding ---- */

    /* Renews one and asks who waits. reserve: so many fences more. */
    lk__question *(*keep)(const lk__claim *claim, uint64_t lease_ms,
                          uint64_t reserve);
    lk_status (*read_keep)(const redisReply *reply, uint64_t fence,
                           lk__keep_answer *ret);

    /* How many keys a renewal of many has for this one; 0: that is not known,
       and it is kept whole, until the answer says that it is apart. NULL: one for
       each. */
    size_t (*renewal_keys)(const lk__claim *claim);

    /* Many at once, which have as many keys each, and one lease. */
    lk__question *(*renew)(lk__claim *const *claims, const uint64_t *leases,
                           size_t count);
    lk_status (*read_renew)(const redisReply *reply, lk__lost_answer *ret);

    /* A hold of this id becomes the claim's; the old claim has ended then. */
    lk__question *(*import)(const lk__claim *claim, const char *id,
                            uint64_t fence, uint64_t lease_ms);
    lk_status (*read_import)(const redisReply *reply, lk__import_answer *ret);

    /* ---- ending ---- */

    lk__question *(*release)(const lk__claim *claim);
    /* stone_ms: for so long it can never be granted; 0: it can. */
    lk__question *(*leave)(const lk__claim *claim, uint64_t stone_ms);
    /* Ends the hold of one owner; "": all holds. */
    lk__question *(*force)(const struct lk__place *place, const char *owner);
    lk_status (*read_close)(const redisReply *reply, lk__close_answer *ret);

    /* Goes on handing over. */
    lk__question *(*hand_on)(const struct lk__place *place);
    bool (*read_hand_on)(const redisReply *reply);

    /* ---- for operators ---- */

    lk__question *(*revoke)(const struct lk__place *place, const char *owner);
    lk_status (*read_revoke)(const redisReply *reply, lk__revoke_answer *ret);
    lk__question *(*forget)(const struct lk__place *place);
    lk_status (*read_forget)(const redisReply *reply, lk__forget_answer *ret);
    lk__question *(*info)(const struct lk__place *place);
    lk_status (*read_info)(const redisReply *reply, lk__info_answer *ret);
} lk__protocol;

/* That of the claim's kind. */
const lk__protocol *lk__claim_protocol(const lk__claim *claim);

/* That of the lock and the fair lock. */
extern const lk__protocol lk__protocol_lock;

/* Sends a question over this connection of a node's. */
lk_status lk__question_send(lk__conn *conn, lk__request *request,
                            const lk__question *question);

#endif /* LK_CLAIMS_PROTOCOL_H */
