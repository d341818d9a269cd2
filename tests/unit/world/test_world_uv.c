/* SPDX-License-Identifier: MIT */

/* The real world without its streams: time, loop thread, parking, fork. */

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/check.h"
#include "support/descriptors.h"
#include "support/gate.h"
#include "support/witness.h"
#include "world/world.h"

#define MS UINT64_C(1000000)

static uint64_t now(witness *w)
{
    return w->world->class->now(w->world);
}

/* ---- timer -------------------------------------------------------------- */

CHECK_TEST(the_timer_fires_at_its_time_and_once)
{
    witness w = {0};
    uint64_t at;

    assert_true(witness_start(&w, lk__world_uv_new()));
    at = now(&w) + 20 * MS;
    w.world->class->set_timer(w.world, at);
    assert_true(witness_sees(&w, &w.timers, 1));
    assert_true(w.last_timer >= at);
    assert_true(witness_turn(&w));
    assert_int_equal(w.timers, 1);
    witness_stop(&w);
}

CHECK_TEST(a_new_time_replaces_the_old_one)
{
    witness w = {0};
    uint64_t late;

    assert_true(witness_start(&w, lk__world_uv_new()));
    late = now(&w) + 3600000 * MS;
    w.world->class->set_timer(w.world, late);
    w.world->class->set_timer(w.world, now(&w) + 10 * MS);
    assert_true(witness_sees(&w, &w.timers, 1));
    assert_true(w.last_timer < late);
    witness_stop(&w);
}

CHECK_TEST(a_past_time_fires_soon)
{
    witness w = {0};

    assert_true(witness_start(&w, lk__world_uv_new()));
    w.world->class->set_timer(w.world, 0);
    assert_true(witness_sees(&w, &w.timers, 1));
    w.world->class->set_timer(w.world, now(&w) - MS);
    assert_true(witness_sees(&w, &w.timers, 2));
    witness_stop(&w);
}

CHECK_TEST(a_timer_set_to_never_does_not_fire)
{
    witness w = {0};
    lk__parking parking;
    uint64_t until;

    assert_true(witness_start(&w, lk__world_uv_new()));
    until = now(&w) + 60 * MS;
    w.world->class->set_timer(w.world, now(&w) + 30 * MS);
    w.world->class->set_timer(w.world, LK__NEVER);
    w.world->class->parking_init(w.world, &parking);
    assert_false(w.world->class->park(w.world, &parking, until));
    assert_true(witness_turn(&w));
    assert_int_equal(w.timers, 0);
    witness_stop(&w);
}

/* ---- wake --------------------------------------------------------------- */

CHECK_TEST(wakes_that_nobody_met_are_one)
{
    witness w = {0};
    gate g;
    int i;

    assert_true(witness_start(&w, lk__world_uv_new()));
    gate_close(&g, &w);
    for (i = 0; i < 100; i++)
        w.world->class->wake(w.world);
    gate_open(&g);
    assert_true(witness_sees(&w, &w.wakes, 1));
    w.world->class->set_timer(w.world, 0);
    assert_true(witness_sees(&w, &w.timers, 2));
    assert_int_equal(w.wakes, 1);
    witness_stop(&w);
}

/* The loop comes up for its timer at any moment of the wake: just before, just
   after, or about to wait again. */
CHECK_TEST(a_wake_is_met_whatever_the_loop_does)
{
    witness w = {0};

    assert_true(witness_start(&w, lk__world_uv_new()));
    for (int met = 0; met < 2000; met++) {
        w.world->class->set_timer(w.world, 0);
        w.world->class->wake(w.world);
        for (int i = 0; i < 1000 && witness_count(&w, &w.wakes) == met; i++)
            (void)sched_yield();
        assert_true(witness_sees(&w, &w.wakes, met + 1));
    }
    witness_stop(&w);
}

static lk__world *signalled_world;

static void wake_in_handler(int number)
{
    (void)number;
    signalled_world->class->wake(signalled_world);
}

CHECK_TEST(a_signal_handler_may_wake)
{
    struct sigaction action = {.sa_handler = wake_in_handler}, before;
    witness w = {0};

    assert_true(witness_start(&w, lk__world_uv_new()));
    signalled_world = w.world;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_true(witness_sees(&w, &w.wakes, 1));
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    witness_stop(&w);
}

/* ---- the thread --------------------------------------------------------- */

typedef struct portrait {
    bool is_loop;
    bool blocks_signals;
    char name[32];
    long switches; /* voluntary, as of now */
} portrait;

/* How often the calling thread has gone to sleep. */
static long switches_now(void)
{
    static const char key[] = "voluntary_ctxt_switches:";
    char line[128];
    long switches = -1;
    FILE *file = fopen("/proc/thread-self/status", "re");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            switches = strtol(line + sizeof(key) - 1, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    return switches;
}

static void draw(witness *w, witness_link *link)
{
    portrait *p = w->data;
    sigset_t set;

    (void)link;
    p->is_loop = w->world->class->is_loop(w->world);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &set);
    p->blocks_signals = sigismember(&set, SIGINT) && sigismember(&set, SIGCHLD);
    (void)pthread_getname_np(pthread_self(), p->name, sizeof(p->name));
    p->switches = switches_now();
}

CHECK_TEST(the_loop_thread_has_a_name_and_takes_no_signals)
{
    portrait p = {0};
    witness w = {.hook = draw, .data = &p};
    sigset_t before, after;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_true(witness_start(&w, lk__world_uv_new()));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
    assert_false(w.world->class->is_loop(w.world));
    assert_true(witness_turn(&w));
    witness_stop(&w);
    assert_true(p.is_loop);
    assert_true(p.blocks_signals);
    assert_string_equal(p.name, "latchkey");
}

CHECK_TEST(an_idle_world_wakes_up_for_nothing)
{
    portrait p = {0};
    witness w = {.hook = draw, .data = &p};
    lk__parking parking;
    long before;

    assert_true(witness_start(&w, lk__world_uv_new()));
    w.world->class->parking_init(w.world, &parking);
    assert_true(witness_turn(&w));
    w.world->class->set_timer(w.world, now(&w) + 5 * MS);
    assert_true(witness_sees(&w, &w.timers, 1));
    before = p.switches;
    assert_false(w.world->class->park(w.world, &parking, now(&w) + 300 * MS));
    assert_true(witness_turn(&w));
    witness_stop(&w);
    assert_in_range(p.switches - before, 1, 3);
}

CHECK_TEST(a_world_that_was_never_started_can_be_stopped)
{
    lk__world *world = lk__world_uv_new();

    assert_non_null(world);
    world->class->set_timer(world, 1);
    world->class->wake(world);
    world->class->stop(world);
}

static int allocations_left;

static bool allocation_fails(void)
{
    return allocations_left-- <= 0;
}

CHECK_TEST(without_memory_there_is_no_world)
{
    allocations_left = 0;
    lk__mem_fail(allocation_fails);
    assert_null(lk__world_uv_new());
    lk__mem_fail(NULL);
}

/* ---- descriptors -------------------------------------------------------- */

CHECK_TEST(a_world_leaves_no_descriptor_and_none_to_exec)
{
    witness w = {0};
    int before = descriptors_count(), inherited = descriptors_inherited();

    assert_true(witness_start(&w, lk__world_uv_new()));
    assert_true(witness_turn(&w));
    assert_true(descriptors_count() > before);
    assert_int_equal(descriptors_inherited(), inherited);
    witness_stop(&w);
    assert_int_equal(descriptors_count(), before);
}

/* ---- parking ------------------------------------------------------------ */

typedef struct sleeper {
    lk__world *world;
    lk__parking *parking;
    int before; /* written before the unpark */
} sleeper;

static void *unpark(void *data)
{
    sleeper *s = data;

    s->before = 7;
    s->world->class->unpark(s->world, s->parking);
    return NULL;
}

/* Parks in a frame that is gone when this returns. */
static bool park_once(witness *w, uint64_t until)
{
    lk__parking parking;
    sleeper s = {.world = w->world, .parking = &parking};
    pthread_t thread;
    bool unparked;

    w->world->class->parking_init(w->world, &parking);
    assert_int_equal(pthread_create(&thread, NULL, unpark, &s), 0);
    unparked = w->world->class->park(w->world, &parking, until);
    assert_int_equal(s.before, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return unparked;
}

CHECK_TEST(another_thread_ends_a_park)
{
    witness w = {0};
    int i;

    assert_true(witness_start(&w, lk__world_uv_new()));
    for (i = 0; i < 50; i++) {
        assert_true(park_once(&w, LK__NEVER));
        assert_true(park_once(&w, now(&w) + 60000 * MS));
    }
    witness_stop(&w);
}

CHECK_TEST(a_park_ends_at_its_time)
{
    witness w = {0};
    lk__parking parking;
    uint64_t until;

    assert_true(witness_start(&w, lk__world_uv_new()));
    w.world->class->parking_init(w.world, &parking);
    until = now(&w) + 30 * MS;
    assert_false(w.world->class->park(w.world, &parking, until));
    assert_true(now(&w) >= until);
    assert_false(w.world->class->park(w.world, &parking, 0));
    witness_stop(&w);
}

CHECK_TEST(an_early_unpark_is_not_forgotten)
{
    witness w = {0};
    lk__parking parking;

    assert_true(witness_start(&w, lk__world_uv_new()));
    w.world->class->parking_init(w.world, &parking);
    w.world->class->unpark(w.world, &parking);
    assert_true(w.world->class->park(w.world, &parking, 0));
    assert_false(w.world->class->park(w.world, &parking, 0));
    w.world->class->unpark(w.world, &parking);
    assert_true(w.world->class->park(w.world, &parking, LK__NEVER));
    witness_stop(&w);
}

/* ---- randomness and fork ------------------------------------------------ */

/* Small pieces, and what is left of one that a large piece has no use for. */
CHECK_TEST(many_random_pieces_differ)
{
    enum { PIECES = 300 };
    uint64_t pieces[PIECES] = {0};
    lk__world *world = lk__world_uv_new();

    for (int i = 0; i < PIECES; i++) {
        size_t size = i % 3 == 0 ? 7 : 8;

        assert_true(world->class->random(world, &pieces[i], size));
        for (int j = 0; j < i; j++)
            assert_true(pieces[i] != pieces[j]);
    }
    world->class->stop(world);
}

/* What both would draw next was the same before the fork. */
CHECK_TEST(a_child_draws_other_random_bytes)
{
    uint64_t *drawn = mmap(NULL, sizeof(*drawn), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lk__world *world = lk__world_uv_new();
    uint64_t own = 0;
    pid_t child;

    assert_true(drawn != MAP_FAILED);
    assert_true(world->class->random(world, &own, sizeof(own)));
    child = fork();
    if (child == 0)
        _exit(!world->class->random(world, drawn, sizeof(*drawn)));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(world->class->random(world, &own, sizeof(own)));
    assert_true(*drawn != 0 && own != *drawn);
    world->class->stop(world);
    (void)munmap(drawn, sizeof(*drawn));
}

CHECK_TEST(random_bytes_differ_each_time)
{
    lk__world *world = lk__world_uv_new();
    unsigned char one[64] = {0}, other[64] = {0}, none[64] = {0};

    world->class->random(world, one, sizeof(one));
    world->class->random(world, other, sizeof(other));
    assert_memory_not_equal(one, other, sizeof(one));
    assert_memory_not_equal(one, none, sizeof(one));
    world->class->stop(world);
}

/* In the child: 0 when all is as promised. */
static int child_check(witness *w, unsigned generation)
{
    if (lk__fork_generation() != generation + 1)
        return 1;
    w->world->class->set_timer(w->world, 0);
    w->world->class->wake(w->world);
    w->world->class->stop(w->world);
    return 0;
}

CHECK_TEST(a_child_counts_the_fork_and_leaves_the_parents_loop)
{
    witness w = {0};
    unsigned generation;
    int status = -1;
    pid_t child;

    assert_true(witness_start(&w, lk__world_uv_new()));
    generation = lk__fork_generation();
    child = fork();
    if (child == 0)
        _exit(child_check(&w, generation));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lk__fork_generation(), generation);
    assert_true(witness_turn(&w));
    assert_int_equal(w.timers, 0);
    assert_int_equal(w.wakes, 1);
    witness_stop(&w);
}
