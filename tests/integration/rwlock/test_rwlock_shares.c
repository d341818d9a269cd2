/* SPDX-License-Identifier: MIT */

/*
 * Readers of ours who overlap without end, and a writer of Redisson's that
 * waits: it comes in before they have read very often, and they go on after it.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "support/check.h"
#include "support/rw_standin.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum {
    READERS = 16,
    PROCESSES = 4,
    MOST = 8000, /* grants to readers beside a writer that waits */
    MORE = 200,  /* grants to readers once it has gone */
    SOON_MS = 20000
};

typedef struct crowd {
    atomic_int grants;
    atomic_int failures;
    atomic_bool is_over;
    pthread_t threads[READERS];
    lk_rwlock *locks[READERS]; /* of each */
} crowd;

struct reader {
    crowd *crowd;
    lk_rwlock *lock;
};

/* A millisecond of work. */
static void work(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};

    nanosleep(&ms, NULL);
}

static void *read_on(void *data)
{
    struct reader *r = data;

    while (!atomic_load(&r->crowd->is_over)) {
        lk_hold *hold = NULL;

        if (lk_rwlock_acquire_read(r->lock, SOON_MS, NULL, &hold) != LK_OK) {
            atomic_fetch_add(&r->crowd->failures, 1);
            continue;
        }
        atomic_fetch_add(&r->crowd->grants, 1);
        work();
        (void)lk_hold_release(hold);
    }
    free(r);
    return NULL;
}

static void crowd_begin(crowd *c)
{
    for (int i = 0; i < READERS; i++) {
        struct reader *r = malloc(sizeof(*r));

        assert_non_null(r);
        *r = (struct reader){c, c->locks[i]};
        assert_int_equal(pthread_create(&c->threads[i], NULL, read_on, r), 0);
    }
}

static void crowd_end(crowd *c)
{
    atomic_store(&c->is_over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(c->threads[i], NULL);
}

static bool has_read(void *data)
{
    return atomic_load(&((crowd *)data)->grants) >= MORE;
}

/* ---- the writer -------------------------------------------------------------- */

struct java {
    rw_standin *standin;
    pthread_t thread;
    atomic_bool has_it;
};

static void *java_writes(void *data)
{
    struct java *j = data;

    if (rw_standin_lock(j->standin, RW_STANDIN_WRITE, -1))
        atomic_store(&j->has_it, true);
    return NULL;
}

struct race {
    struct java *java;
    crowd *crowd;
};

static bool is_decided(void *data)
{
    const struct race *race = data;

    return atomic_load(&race->java->has_it) ||
           atomic_load(&race->crowd->grants) >= MOST;
}

static void writer_gets_its_turn(rwlocking *f, crowd *c)
{
    struct java java = {
        .standin = rw_standin_new(server_socket(f->base->server), "n")};
    struct race race = {&java, c};
    bool has_it;

    crowd_begin(c);
    assert_true(wait_until(has_read, c, SOON_MS));
    atomic_store(&c->grants, 0);
    assert_int_equal(pthread_create(&java.thread, NULL, java_writes, &java), 0);
    (void)wait_until(is_decided, &race, SOON_MS);
    has_it = atomic_load(&java.has_it);
    if (!has_it)
        crowd_end(c);
    pthread_join(java.thread, NULL);
    atomic_store(&c->grants, 0);
    assert_int_equal(rw_standin_unlock(java.standin, RW_STANDIN_WRITE), 1);
    assert_true(has_it);
    assert_true(wait_until(has_read, c, SOON_MS));
    crowd_end(c);
    assert_int_equal(atomic_load(&c->failures), 0);
}

static lk_client *open_interop(rwlocking *f, uint64_t interop)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = interop};

    return locking_open_calm(f->base, &options);
}

static void beside_readers_of_one_process(rwlocking *f, uint64_t interop)
{
    crowd c = {.grants = 0};
    lk_client *client = open_interop(f, interop);

    for (int i = 0; i < READERS; i++)
        c.locks[i] = rwlocking_lock(f, client);
    writer_gets_its_turn(f, &c);
}

static void beside_readers_of_four_processes(rwlocking *f, uint64_t interop)
{
    crowd c = {.grants = 0};
    lk_client *clients[PROCESSES];

    for (int i = 0; i < PROCESSES; i++)
        clients[i] = open_interop(f, interop);
    for (int i = 0; i < READERS; i++)
        c.locks[i] = rwlocking_lock(f, clients[i % PROCESSES]);
    writer_gets_its_turn(f, &c);
}

static int teardown(void **state)
{
    rw_standins_free();
    return rwlocking_teardown(state);
}

#define TEST(name) CHECK_TEST_OF(name, rwlocking *f, rwlocking_setup, teardown)

TEST(a_writer_of_redissons_comes_in_beside_one_process)
{
    beside_readers_of_one_process(f, LK_INTEROP_AUTO);
}

TEST(and_where_redisson_is_said_to_be_there)
{
    beside_readers_of_one_process(f, LK_INTEROP_REDISSON);
}

TEST(a_writer_of_redissons_comes_in_beside_four_processes)
{
    beside_readers_of_four_processes(f, LK_INTEROP_AUTO);
}

TEST(four_of_them_and_redisson_is_said_to_be_there)
{
    beside_readers_of_four_processes(f, LK_INTEROP_REDISSON);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
