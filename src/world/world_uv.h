/* SPDX-License-Identifier: MIT */
#ifndef LK_WORLD_WORLD_UV_H
#define LK_WORLD_WORLD_UV_H

#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include <uv.h>

#include "world/fork.h"
#include "world/world.h"

/*
 * The inside of the real world: world_uv.c has the loop, the timer and the
 * parking, world_uv_link.c the streams, world_uv_loan.c how callers read them,
 * world_uv_dial.c how they are opened, world_uv_lookup.c how names are looked
 * up, world_uv_tls.c what is encrypted.
 *
 * Everything belongs to the loop thread except what is said to be shared.
 * Other threads leave work for the loop in the links and wake it.
 */

typedef struct lk__uv_world lk__uv_world;
typedef struct lk__uv_socket lk__uv_socket;
typedef struct lk__uv_dial lk__uv_dial;
typedef struct lk__uv_lookup lk__uv_lookup;
typedef struct lk__uv_tls lk__uv_tls;

enum { LK__UV_RECEIVE_BYTES = 64 * 1024, LK__UV_CHANCE_BYTES = 512 };

/* What a caller reads into: as it came, and decrypted. With TLS a record that
   began before may end in what came. */
enum {
    LK__UV_READ_BYTES = 16 * 1024,
    LK__UV_TLS_RECORD = 16 * 1024, /* what OpenSSL reads at a time */
    LK__UV_TLS_CAME = 4 * 1024,
    LK__UV_TLS_READ_BYTES =
        LK__UV_TLS_CAME + LK__UV_TLS_RECORD + LK__UV_TLS_CAME
};

struct lk__uv_world {
    lk__world base;
    const lk__events *events;
    void *user;
    unsigned generation; /* of forks, when the world was made */
    pthread_t thread;
    bool started; /* thread runs */

    /* Shared. */
    uv_async_t async;
    lk__fork_entry timer_fd;
    atomic_bool woken;     /* wake() was called, and on_wake not since */
    atomic_bool up;        /* the loop will look at woken before it waits */
    atomic_bool ending;    /* stop() or stop_later() has been called */
    pthread_mutex_t mutex; /* guards the next five, and the loans of links;
                              held for moments only */
    unsigned char chance[LK__UV_CHANCE_BYTES]; /* random; see chance_left */
    size_t chance_left; /* so many of its first bytes were not handed out */
    lk__link *first_work;
    lk__link **last_work; /* where the next one is hung */
    lk__link *links;      /* all that were not freed */

    uv_loop_t loop;
    uv_poll_t timer;
    uv_prepare_t prepare;      /* called before the loop waits */
    uv_timer_t tick;           /* runs while a stream is lent */
    bool seals;                /* something was taken to be encrypted then */
    lk__uv_lookup *lookups;    /* under way, wanted or not */
    void (*ended)(void *data); /* of stop_later(); else NULL */
    void *ended_data;
    char bytes[LK__UV_RECEIVE_BYTES];
};

/* A callback of the loop's begins: what it has done need not wake the loop. */
static inline void lk__uv_up(lk__uv_world *world)
{
    atomic_store_explicit(&world->up, true, memory_order_relaxed);
}

/* A socket and its place in the loop. Only the loop thread has it. */
struct lk__uv_socket {
    uv_poll_t poll;
    lk__fork_entry entry;
    void *owner;         /* the dial that tries it, the link that has it */
    lk__uv_socket *next; /* of a dial's attempts */
};

/* Whose turn it is to read a stream; see world_uv_loan.c. */
typedef enum lk__uv_turn {
    LK__UV_LOOPS, /* the loop's */
    LK__UV_NOBODYS,
    LK__UV_CALLERS /* a caller's that has borrowed it */
} lk__uv_turn;

typedef struct lk__uv_loan {
    atomic_int turn; /* changed under the world's mutex only */
    bool borrowed;   /* a caller has not returned it */
    bool woken;      /* the borrower is not to sleep again */
    bool asleep;     /* it has to be rung for */
    bool rung;       /* wake_fd is readable */
    bool closes;     /* freed once it is returned */
    unsigned uses;   /* how often it was borrowed */
    unsigned seen;   /* the loop's: uses at the last tick */
    int wake_fd;     /* an eventfd; -1: it was never lent */
    char *bytes;     /* what the borrower received, and decrypted */
} lk__uv_loan;

struct lk__link {
    lk__uv_world *world;
    void *tag;
    char *path; /* own copies, as in lk__address */
    char *host;
    uint16_t port;

    /* Shared, guarded by the world's mutex. */
    lk__link *next_work;
    unsigned work;          /* what the loop has to do; 0: not in the list */
    lk__link *next, **link; /* among the world's links */

    /* Shared. */
    atomic_int fd;      /* -1 before it is open */
    atomic_int error;   /* 0: the stream stands; what broke it */
    atomic_bool closed; /* by its owner: no event any more */

    lk__uv_dial *dial; /* while it is being opened */
    lk__uv_socket *socket;
    bool ended; /* on_end was due */

    lk__uv_loan loan;

    lk__uv_tls *tls; /* NULL: a plain stream */
    bool greeting;   /* TLS is not agreed upon yet, and on_open is still due */
};

/* ---- world_uv_link.c ---------------------------------------------------- */

lk__link *
lk__uv_link_open(lk__world *base, const lk__address *address, void *tag);
ssize_t lk__uv_link_send(lk__link *link, const void *bytes, size_t size);
void lk__uv_link_close(lk__link *link);

/* Does what other threads have left to be done. */
void lk__uv_links_work(lk__uv_world *world);

/* The loop is about to wait: sends what was put off until then. */
void lk__uv_links_seal(lk__uv_world *world);

/* Ends and frees every link, without events. */
void lk__uv_links_free(lk__uv_world *world);

/* Has the loop read it, or see no more of it than its end. */
void lk__uv_link_listen(lk__link *link);
void lk__uv_link_watch(lk__link *link);

/* The dial is over: the link takes the socket, or error tells why not. */
void lk__uv_link_opened(lk__link *link, lk__uv_socket *socket, int error);

/* 0 or a negative errno; *ret_socket is untouched on failure. */
int lk__uv_socket_new(lk__uv_socket **ret_socket, lk__uv_world *world,
                      int family);

/* Takes it out of the loop and closes it; no callback comes any more. */
void lk__uv_socket_free(lk__uv_socket *socket);

/* Leaves work for the loop. */
enum {
    LK__UV_OPEN = 1,  /* begin to open it */
    LK__UV_WRITE = 2, /* tell when it takes bytes again */
    LK__UV_FAIL = 4,  /* error is set: take what came before, then end it */
    LK__UV_CLOSE = 8, /* free it */
    LK__UV_TAKE = 16  /* read it, unless a caller does */
};
void lk__uv_link_work(lk__link *link, unsigned work);

/* Hands bytes to the socket and returns how much it took. An error is noted:
   the stream will end with it. */
ssize_t lk__uv_link_put(lk__link *link, const void *bytes, size_t size);

/* Tells whether events for the link may still begin. */
bool lk__uv_link_listens(const lk__link *link);

/* The stream is over: on_end, or on_open if that was still due. */
void lk__uv_link_end(lk__link *link, int error);

/* ---- world_uv_loan.c ---------------------------------------------------- */

/* As in lk__world_class. */
void lk__uv_link_lend(lk__link *link);
void lk__uv_link_want(lk__link *link);
bool lk__uv_link_borrow(lk__link *link, lk__parking *parking);
bool lk__uv_link_await(lk__link *link, uint64_t until);
ssize_t lk__uv_link_read(lk__link *link, const char **ret_bytes);
void lk__uv_link_return(lk__link *link, lk__parking *parking);

/* Wakes a parking that reads. */
void lk__uv_loan_wake(lk__link *link);

/*
 * Before the loop does work on a link: it takes a stream back that is lent. What
 * there is to do is returned; a close is queued again when a borrower has
 * returned the link.
 */
unsigned lk__uv_loan_recall(lk__link *link, unsigned work);

/* As recv(), of a socket that has nothing if the borrower's turn is over. */
ssize_t lk__uv_loan_receive(lk__link *link, size_t size);

bool lk__uv_is_lent(const lk__link *link);

void lk__uv_loan_init(lk__link *link);
void lk__uv_loan_free(lk__link *link);

/* ---- world_uv_tls.c ------------------------------------------------------ */

/* NULL: no memory. tls is borrowed. */
lk__uv_tls *lk__uv_tls_new(const lk__address *address);
void lk__uv_tls_free(lk__uv_tls *uv_tls);

/* The socket is connected: begins the handshake. Like all below but send,
   seal, read and words, on the loop only. */
void lk__uv_tls_begin(lk__link *link);

/* Takes what the socket received, and delivers what is in it. */
void lk__uv_tls_take(lk__link *link, const char *bytes, size_t size);

/* Whether callers may read it: the loop has nothing of it in its hands. */
bool lk__uv_tls_is_idle(lk__link *link);

/* A borrower's: receives, and decrypts all that came. As recv(), but for a
   negative errno. */
ssize_t lk__uv_tls_read(lk__link *link, const char **ret_bytes);

/* Sends what waits. True: nothing is left. */
bool lk__uv_tls_flush(lk__link *link);

/* Encrypts and sends what was taken and waits for more. */
void lk__uv_tls_seal(lk__link *link);

/* As link_send() and link_words(). What the loop sends waits until
   lk__uv_links_seal(). */
ssize_t lk__uv_tls_send(lk__link *link, const void *bytes, size_t size);
void lk__uv_link_words(lk__link *link, char *words, size_t size);

/* ---- world_uv_dial.c ---------------------------------------------------- */

/* Ends in lk__uv_link_opened(), perhaps before it returns. */
void lk__uv_dial_start(lk__link *link);

/* Ends it without a word to the link. NULL is allowed. */
void lk__uv_dial_stop(lk__uv_dial *dial);

/* Its name was looked up: 0 and addresses, which are the look-up's until the
   dial gives it back, or an error. */
void lk__uv_dial_found(lk__uv_dial *dial, int error,
                       const struct addrinfo *list);

/* ---- world_uv_lookup.c -------------------------------------------------- */

/*
 * Has a name looked up for a dial, which is told by the loop, not before this
 * returned. Dials of the same name share a look-up. NULL: no memory or no
 * thread, *ret_error says which.
 */
lk__uv_lookup *lk__uv_lookup_start(lk__uv_world *world, lk__uv_dial *dial,
                                   const char *host, uint16_t port,
                                   int *ret_error);

/* The dial gives it back, told or not. */
void lk__uv_lookup_leave(lk__uv_lookup *lookup, lk__uv_dial *dial);

/* Tells the dials of look-ups that are over. */
void lk__uv_lookups_work(lk__uv_world *world);

/* Every dial has left. One that hangs in the C library is left to its thread,
   which no longer touches the world. */
void lk__uv_lookups_drop(lk__uv_world *world);

#endif /* LK_WORLD_WORLD_UV_H */
