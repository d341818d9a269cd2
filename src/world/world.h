/* SPDX-License-Identifier: MIT */
#ifndef LK_WORLD_WORLD_H
#define LK_WORLD_WORLD_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The seam between the core and the world: time, randomness, byte streams,
 * one timer, and parking a thread. (Memory is in mem.h.)
 *
 * The core is a monitor: its state is guarded by the client's mutex and moved
 * on by whoever holds it, a caller's thread or the world's loop. The world
 * knows nothing of that state. It delivers events, one after another, from
 * one thread (its loop); the core's handlers take the mutex themselves, so the
 * world holds no lock of its own while it calls them. A stream that the core
 * has lent is read by threads of the core's, and has no events meanwhile.
 *
 * src/world/world_uv.c is the real one. A test has another, with a virtual
 * clock and a scripted server.
 */

typedef struct lk__world lk__world;
typedef struct lk__link lk__link; /* one byte stream to a server */

/* Where a server is. Strings are borrowed for the life of the link. */
typedef struct lk__address {
    const char *path; /* unix socket; NULL: TCP */
    const char *host; /* name or number; NULL for a unix socket */
    uint16_t port;
    struct lk__tls *tls; /* borrowed; NULL: plain. With it no byte goes out
                            before the server has proven who it is */
} lk__address;

/*
 * What the world tells the core. user is what lk__world_start() was given, tag
 * what lk__link_open() was given. A link may be closed by the core from any
 * thread while an event for it is under way: a handler first checks, under
 * the mutex, that the link is still its own.
 *
 * Errors are negative errno values, or libuv's UV_EAI_... for names.
 * -EKEYREJECTED: a certificate, the server's or the client's, is not accepted.
 */
typedef struct lk__events {
    /* The stream stands (error 0) or could not be had; then it is dead. */
    void (*on_open)(void *user, void *tag, lk__link *link, int error);
    /* Bytes came. They are borrowed. */
    void (*on_data)(void *user, void *tag, lk__link *link, const char *bytes,
                    size_t size);
    /* The stream ended: 0 for an orderly end. The link is dead. */
    void (*on_end)(void *user, void *tag, lk__link *link, int error);
    /* After a short send: the stream takes bytes again. */
    void (*on_writable)(void *user, void *tag, lk__link *link);
    /* The time set by lk__world_set_timer() has come. */
    void (*on_timer)(void *user);
    /* lk__world_wake() was called since the last on_wake. */
    void (*on_wake)(void *user);
} lk__events;

/* One thread's place to sleep in a blocking call. */
typedef struct lk__parking {
    sem_t sem;          /* the real world's */
    atomic_bool posted; /* set by unpark before it wakes the sleeper */
    lk__link *reads;    /* its thread has borrowed this stream; else NULL */
} lk__parking;

#define LK__NEVER UINT64_MAX

/*
 * One implementation. All times are nanoseconds on CLOCK_BOOTTIME, which goes
 * on while the machine is suspended. Functions may be called from any thread
 * unless said otherwise; those on links only under the client's mutex.
 */
typedef struct lk__world_class {
    uint64_t (*now)(lk__world *world);
    /* Fills size bytes. Ids are made of them. False: the system has none. */
    bool (*random)(lk__world *world, void *bytes, size_t size);

    /* Starts to deliver events. 0 or a negative errno. */
    int (*start)(lk__world *world, const lk__events *events, void *user);
    /*
     * Ends the delivery of events, closes every link and frees the world. No
     * event is delivered after it returned. Not from within an event, of this
     * world or of another: two that ended each other so would wait for ever.
     */
    void (*stop)(lk__world *world);
    /*
     * The same from anywhere, without waiting. Other events may come before the
     * end; then the world is freed and ended is called, last of all, by the thread
     * that was the loop's. Needs nothing, so it cannot fail.
     */
    void (*stop_later)(lk__world *world, void (*ended)(void *data), void *data);
    /* Tells whether the caller runs within an event of this world. */
    bool (*is_loop)(const lk__world *world);
    /* The same of whichever world of its class: it may not stop this one then. */
    bool (*is_any_loop)(const lk__world *world);

    /* Replaces the one timer; LK__NEVER: none. A past time fires soon. */
    void (*set_timer)(lk__world *world, uint64_t at);
    /* Has on_wake called soon. Safe in a signal handler. */
    void (*wake)(lk__world *world);

    /*
     * Begins to open a stream; on_open follows, never before this returned.
     * NULL: out of memory or descriptors. There is no time limit: close it.
     */
    lk__link *(*link_open)(lk__world *world, const lk__address *address,
                           void *tag);
    /*
     * Sends what the stream takes at once and returns how much; fewer bytes
     * than asked for, also 0: on_writable follows. Negative errno: the stream
     * is broken, and on_end follows.
     */
    ssize_t (*link_send)(lk__link *link, const void *bytes, size_t size);
    /*
     * Ends the stream and gives the link back, also one that is dead; no event
     * for it begins after this. Once for each link that is not left to stop.
     */
    void (*link_close)(lk__link *link);
    /*
     * Says in words why the stream did not stand, or ended, or what it waits
     * for, if the world knows more than the error; else there are none. Within
     * an event. NULL: a world that never knows more.
     */
    void (*link_words)(lk__link *link, char *words, size_t size);

    /*
     * Streams that are read by callers: see docs/architecture.md. NULL, all of
     * them: the world has none.
     *
     * Lends the stream to callers, if that can be. Within on_data of the link,
     * with no answer awaited on it and no on_writable.
     */
    void (*link_lend)(lk__link *link);
    /* An answer is awaited: the loop takes a lent stream back that nobody has
       borrowed. After each send, and after a return. */
    void (*link_want)(lk__link *link);
    /* The caller is to read a lent stream. False: it is not lent, or somebody
       has it. An unpark of the parking ends the wait in link_await. */
    bool (*link_borrow)(lk__link *link, lk__parking *parking);
    /* Sleeps until there is something to read. Not under the mutex. False:
       unparked, or the time has come, or the loop has taken the stream back. */
    bool (*link_await)(lk__link *link, uint64_t until);
    /*
     * Takes what there is: borrowed until the next call, and how many bytes. 0:
     * nothing, or the loop has taken the stream back. Negative: the stream has
     * ended, and an event follows.
     */
    ssize_t (*link_read)(lk__link *link, const char **ret_bytes);
    /* Gives it back, also when it was closed meanwhile. */
    void (*link_return)(lk__link *link, lk__parking *parking);

    void (*parking_init)(lk__world *world, lk__parking *parking);
    /* Sleeps until unparked (true) or until the time has come (false). */
    bool (*park)(lk__world *world, lk__parking *parking, uint64_t until);
    void (*unpark)(lk__world *world, lk__parking *parking);
} lk__world_class;

/* The first member of every implementation. */
struct lk__world {
    const lk__world_class *class;
};

/*
 * How often this process has been forked since the library was loaded: a
 * child counts one more than its parent, and costs no system call to tell. In
 * a child the sockets and the timer of its parent's worlds are closed; nothing
 * of such a world may be called there but now, random, wake and stop. wake
 * does nothing there, nor does stop, which leaves the memory as it is: the
 * threads that used it are gone, wherever they stood.
 */
unsigned lk__fork_generation(void);

/* Ends the loop's thread in a child, which has no loop. With the child's last
   thread the child ends, with status 0 and no word to the program. */
_Noreturn void lk__fork_end_thread(void);

/* What an error of a world's events means, in words. */
void lk__world_error(int error, char *words, size_t size);

/* The real world, or NULL when out of memory or descriptors. */
lk__world *lk__world_uv_new(void);

#endif /* LK_WORLD_WORLD_H */
