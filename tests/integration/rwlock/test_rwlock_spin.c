/* SPDX-License-Identifier: MIT */

/* The read-write lock's spin strategy: no queue, no Pub/Sub, the same rules. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { THREADS = 8, TURNS = 30, SOON_MS = 10000 };

static lk_rwlock *spinning_in(locking *f, lk_client *client)
{
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .strategy = LK_SPIN, .spin_first_ms = 1,
                                       .spin_most_ms = 8};

    return rwlocking_named(f, client, "n", &options);
}

static lk_rwlock *spinning(locking *f)
{
    return spinning_in(f, locking_open(f, NULL));
}

static void wait_until_it_spins(locking *f)
{
    locking_wait_integer(f, 1, "EXISTS %s", "latchkey:{n}:s");
}

/* ---- what it is ---- */

/* Everything that waits, by whoever keeps it waiting. */
LOCKS_TEST(who_spins_gets_what_is_released)
{
    static const kind_id pairs[][2] = {{KIND_WRITE, KIND_READ},
                                       {KIND_READ, KIND_WRITE},
                                       {KIND_WRITE, KIND_WRITE},
                                       {KIND_WRITE, KIND_UPGRADEABLE},
                                       {KIND_UPGRADEABLE, KIND_UPGRADEABLE}};
    lk_rwlock *first = locking_new(f, lk_rwlock);
    lk_rwlock *second = spinning(f);

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        lk_hold *hold = rwlocking_hold(f, first, pairs[i][0]);
        taker *t = rwlocking_take(f, second, pairs[i][1], LK_FOREVER, NULL);

        wait_until_it_spins(f);
        for (int mode = KIND_READ; mode <= KIND_WRITE; mode++)
            rwlocking_wait_queued(f, (kind_id)mode, 0);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_release(t), LK_OK);
        free(server_string(f->server, "SET latchkey:{n}:s 1 PX 1"));
    }
    locking_wait_clean(f, "n");
}

LOCKS_TEST(one_that_spins_has_one_connection_and_hears_nothing)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *lock = spinning_in(f, client);
    lk_rwlock *other = spinning(f);
    redisReply *channels;

    for (int mode = KIND_READ; mode <= KIND_WRITE; mode++) {
        lk_hold *hold = rwlocking_hold(f, lock, (kind_id)mode);
        taker *t = rwlocking_take(f, other, KIND_WRITE, LK_FOREVER, NULL);

        wait_until_it_spins(f);
        if (mode == KIND_WRITE)
            assert_status(lk_rwlock_downgrade(hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_release(t), LK_OK);
    }
    assert_int_equal(locking_stats(client).connects, 1);
    channels = server_command(f->server, "PUBSUB CHANNELS");
    assert_int_equal(channels->elements, 0);
    freeReplyObject(channels);
}

/* Its time may end while a try is under way. */
static void assert_ended_empty_handed(lk_status status)
{
    if (status != LK_EINDOUBT)
        assert_status(status, LK_ETIMEDOUT);
}

LOCKS_TEST(a_wait_that_spins_ends_in_time)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_rwlock *lock = spinning(f);
    lk_hold *none = NULL;

    for (int mode = KIND_READ; mode <= KIND_WRITE; mode++) {
        uint64_t start = wait_now_ms();

        assert_ended_empty_handed(
            rwlocking_acquire(lock, (kind_id)mode, 200, NULL, &none));
        assert_in_range(wait_now_ms() - start, 199,
                        wait_allowed_ms(200 + wait_scaled_ms(300)));
        assert_status(rwlocking_acquire(lock, (kind_id)mode, 0, NULL, &none),
                      LK_EBUSY);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The pauses double: many tries in a second would be a defect. */
LOCKS_TEST(the_pauses_grow)
{
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .strategy = LK_SPIN};
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *lock = rwlocking_named(f, client, "n", &options);
    lk_hold *none = NULL;
    uint64_t before = locking_stats(client).commands;
    const uint64_t wait_ms = wait_limit_ms(1000);

    assert_ended_empty_handed(
        lk_rwlock_acquire_read(lock, (int64_t)wait_ms, NULL, &none));
    assert_in_range(locking_stats(client).commands - before, 8,
                    60 * wait_ms / 1000);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Nor does the answer to one have the others of its client try at once. */
LOCKS_TEST(each_wait_of_a_client_has_its_own_pauses)
{
    enum { WAITS = 4 };
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .strategy = LK_SPIN};
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *lock = rwlocking_named(f, client, "n", &options);
    uint64_t before = locking_stats(client).commands;
    taker *takers[WAITS];

    for (int i = 0; i < WAITS; i++)
        takers[i] = rwlocking_take(f, lock, KIND_WRITE, 1000, NULL);
    for (int i = 0; i < WAITS; i++)
        assert_ended_empty_handed(taker_join(takers[i]));
    assert_in_range(locking_stats(client).commands - before, 8, WAITS * 60);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(pauses_that_make_no_sense_are_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT, .strategy = LK_SPIN,
                                 .spin_first_ms = 9, .spin_most_ms = 8};
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, client, "n", &options), LK_EINVAL);
    options.spin_most_ms = 60001;
    assert_status(lk_rwlock_new(&lock, client, "n", &options), LK_EINVAL);
    options.strategy = 2;
    assert_status(lk_rwlock_new(&lock, client, "n", &options), LK_EINVAL);
    options.strategy = LK_QUEUE;
    options.spin_most_ms = 8;
    assert_status(lk_rwlock_new(&lock, client, "n", &options), LK_EINVAL);
    assert_null(lock);
}

/* ---- upgrade and downgrade ---- */

LOCKS_TEST(an_upgrade_spins_until_the_readers_have_left)
{
    lk_rwlock *lock = spinning(f);
    lk_owner *owner = locking_owner(f, lock);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    lk_hold *reads = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, owner);
    taker *t = rwlocking_take(f, lock, KIND_WRITE, LK_FOREVER, &options);

    wait_until_it_spins(f);
    assert_status(rwlocking_try(f, locking_new(f, lk_rwlock), KIND_READ),
                  LK_EBUSY);
    assert_status(lk_hold_release(reads), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_downgrade_lets_readers_in_who_spin)
{
    lk_hold *hold = rwlocking_hold(f, spinning(f), KIND_WRITE);
    taker *t = rwlocking_take(f, spinning(f), KIND_READ, LK_FOREVER, NULL);

    wait_until_it_spins(f);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- faults ---- */

LOCKS_TEST(who_spins_goes_on_when_its_connection_is_cut)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    taker *t =
        rwlocking_take(f, spinning_in(f, client), KIND_READ, LK_FOREVER, NULL);

    wait_until_it_spins(f);
    freeReplyObject(
        server_command(f->server, "CLIENT KILL TYPE normal SKIPME yes"));
    locking_wait_connects(client, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(one_whose_wait_is_canceled_leaves_no_hold)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *lock = spinning_in(f, client);
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    taker *t;

    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    options.cancel = cancel;
    t = rwlocking_take(f, lock, KIND_WRITE, LK_FOREVER, &options);
    wait_until_it_spins(f);
    lk_cancel_fire(cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_cancel_free(cancel);
    locking_wait_clean(f, "n");
}

/* ---- nobody starves ---- */

/* Readers who overlap: while they run the name is hardly ever free. */
enum { STREAMS = 4, READ_MS = 5 };

struct stream {
    lk_rwlock *lock;
    atomic_bool is_over;
    atomic_uint reads;
};

static void *stream_run(void *data)
{
    struct stream *s = data;

    while (!atomic_load(&s->is_over)) {
        lk_hold *hold = NULL;

        if (lk_rwlock_acquire_read(s->lock, (int64_t)wait_limit_ms(SOON_MS),
                                   NULL, &hold) != LK_OK)
            break;
        atomic_fetch_add(&s->reads, 1);
        locking_pass_time(READ_MS);
        (void)lk_hold_release(hold);
    }
    return NULL;
}

static void wait_for_reads(struct stream *streams)
{
    for (size_t i = 0; i < STREAMS; i++) {
        atomic_store(&streams[i].reads, 0);
        assert_soon(atomic_load(&streams[i].reads) > 10, SOON_MS);
    }
}

static void
writer_comes_between(locking *f, lk_rwlock *readers[2], lk_rwlock *writer)
{
    struct stream streams[STREAMS] = {{.lock = readers[0]}};
    pthread_t threads[STREAMS];
    taker *t;

    for (size_t i = 0; i < STREAMS; i++) {
        streams[i].lock = readers[i % 2];
        assert_int_equal(pthread_create(&threads[i], NULL, stream_run,
                                        &streams[i]),
                         0);
    }
    wait_for_reads(streams);
    t = rwlocking_take(f, writer, KIND_WRITE, SOON_MS, NULL);
    assert_status(taker_release(t), LK_OK);
    assert_in_range(t->took_ms, 0, wait_allowed_ms(wait_scaled_ms(1500)));
    wait_for_reads(streams);
    for (size_t i = 0; i < STREAMS; i++)
        atomic_store(&streams[i].is_over, true);
    for (size_t i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
}

LOCKS_TEST(readers_who_queue_do_not_starve_a_writer_who_spins)
{
    lk_rwlock *readers[2] = {locking_calm(f, lk_rwlock),
                             locking_calm(f, lk_rwlock)};

    writer_comes_between(f, readers, spinning(f));
}

LOCKS_TEST(readers_who_spin_do_not_starve_a_writer_who_queues)
{
    lk_rwlock *readers[2] = {spinning(f), spinning(f)};

    writer_comes_between(f, readers, locking_calm(f, lk_rwlock));
}

LOCKS_TEST(readers_who_spin_do_not_starve_a_writer_who_does)
{
    lk_rwlock *readers[2] = {spinning(f), spinning(f)};

    writer_comes_between(f, readers, spinning(f));
}

/* ---- both strategies at once ---- */

struct crowd {
    lk_rwlock *locks[THREADS];
    atomic_uint next;
    atomic_int inside; /* readers, or -1: a writer */
    atomic_uint violations;
    atomic_uint grants[THREADS];
};

static void visit(struct crowd *crowd, bool writes)
{
    int before = writes ? atomic_exchange(&crowd->inside, -1)
                        : atomic_fetch_add(&crowd->inside, 1);

    if (before < 0 || (writes && before != 0))
        atomic_fetch_add(&crowd->violations, 1);
    before = writes ? atomic_exchange(&crowd->inside, 0)
                    : atomic_fetch_add(&crowd->inside, -1);
    if (writes ? before != -1 : before <= 0)
        atomic_fetch_add(&crowd->violations, 1);
}

static void *crowd_run(void *data)
{
    struct crowd *crowd = data;
    unsigned index = atomic_fetch_add(&crowd->next, 1);
    bool writes = index % 4 >= 2;

    for (int i = 0; i < TURNS; i++) {
        lk_hold *hold = NULL;

        if (rwlocking_acquire(crowd->locks[index],
                              writes ? KIND_WRITE : KIND_READ, LK_FOREVER, NULL,
                              &hold) != LK_OK)
            break;
        visit(crowd, writes);
        if (lk_hold_release(hold) == LK_OK)
            atomic_fetch_add(&crowd->grants[index], 1);
    }
    return NULL;
}

/* Half of them spin, half queue, half of each write, each with a client of
   its own. */
LOCKS_TEST(those_who_spin_and_those_who_queue_exclude_each_other)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    pthread_t threads[THREADS];

    assert_non_null(crowd);
    for (unsigned i = 0; i < THREADS; i++)
        crowd->locks[i] = i % 2 == 0 ? spinning(f) : locking_new(f, lk_rwlock);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, crowd),
                         0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd->violations), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(atomic_load(&crowd->grants[i]), TURNS);
    free(crowd);
    locking_wait_clean(f, "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
