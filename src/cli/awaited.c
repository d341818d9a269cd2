/* SPDX-License-Identifier: MIT */

#include "cli/awaited.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/see/see.h"

enum {
    QUIET_MS = 200, /* of a wait before anything is said of it */
    LOOK_MS = 1000
};

/* The thread asks; the answers come in the client's. */
static struct {
    const cli *c;
    lk_latch *latch;
    char name[SEE_PART_SIZE];
    uint64_t all;
    int end; /* readable: the wait is over */
    bool is_begun;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    bool is_over;
    bool is_asking;
    uint64_t said; /* the last number; 0: none */
} it = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void say(uint64_t awaited)
{
    if (it.all == 0)
        cli_note(it.c, "waiting for %s: %" PRIu64 " awaited", it.name, awaited);
    else if (awaited <= it.all)
        cli_note(it.c,
                 "waiting for %s: %" PRIu64 " of %" PRIu64 " are here, %" PRIu64
                 " missing",
                 it.name, it.all - awaited, it.all, awaited);
}

static void on_count(lk_status status, uint64_t count, void *data)
{
    (void)data;
    (void)pthread_mutex_lock(&it.lock);
    it.is_asking = false;
    if (status == LK_OK && count > 0 && count != it.said && !it.is_over) {
        it.said = count;
        say(count);
    }
    (void)pthread_mutex_unlock(&it.lock);
}

/* Asks unless an answer is due: a server may be away for long. */
static void ask(void)
{
    bool asks;

    (void)pthread_mutex_lock(&it.lock);
    asks = !it.is_asking;
    it.is_asking = true;
    (void)pthread_mutex_unlock(&it.lock);
    if (asks && lk_latch_count_async(it.latch, on_count, NULL) != LK_OK) {
        (void)pthread_mutex_lock(&it.lock);
        it.is_asking = false;
        (void)pthread_mutex_unlock(&it.lock);
    }
}

static void *look(void *data)
{
    struct pollfd end = {.fd = it.end, .events = POLLIN};

    (void)data;
    for (int ms = QUIET_MS; poll(&end, 1, ms) <= 0; ms = LOOK_MS)
        ask();
    return NULL;
}

void cli_awaited_begin(const cli *c, lk_latch *latch, const char *name,
                       uint64_t all)
{
    sigset_t every;
    sigset_t before;

    if (c->quiet)
        return;
    it.c = c;
    it.latch = latch;
    it.all = all;
    (void)see_name_words(it.name, name);
    it.end = eventfd(0, EFD_CLOEXEC);
    if (it.end < 0)
        return;
    /* The thread that waits is the one that a signal ends. */
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_BLOCK, &every, &before);
    it.is_begun = pthread_create(&it.thread, NULL, look, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!it.is_begun)
        (void)close(it.end);
}

void cli_awaited_end(void)
{
    const uint64_t one = 1;

    if (!it.is_begun)
        return;
    it.is_begun = false;
    (void)pthread_mutex_lock(&it.lock);
    it.is_over = true;
    (void)pthread_mutex_unlock(&it.lock);
    (void)!write(it.end, &one, sizeof(one));
    (void)pthread_join(it.thread, NULL);
    (void)close(it.end);
}
