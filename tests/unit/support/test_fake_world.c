/* SPDX-License-Identifier: MIT */

/* The test world keeps its own promises. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/fake_world.h"
#include "support/witness.h"

/* One world, a server that answers, a witness in the core's place. */
typedef struct fixture {
    fake_world *world;
    lk__world *base;
    witness w;
    witness_link link;
    int connect_answer;
    bool is_mute;
    int commands, closes;
    char last[64]; /* arguments of the last command, each with a space */
} fixture;

static const lk__address somewhere = {.host = "server", .port = 6379};

static int on_connect(void *data, fake_link *link)
{
    const fixture *f = data;

    assert_string_equal(link->address.host, "server");
    return f->connect_answer;
}

static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    fixture *f = data;
    size_t used = 0;
    int i;

    f->commands++;
    for (i = 0; i < argc; i++) {
        assert_int_equal(sizes[i], strlen(argv[i]));
        used += (size_t)snprintf(f->last + used, sizeof(f->last) - used, "%s ",
                                 argv[i]);
        assert_true(used < sizeof(f->last));
    }
    if (!f->is_mute)
        fake_say(link, "+OK\r\n");
}

static void on_close(void *data, fake_link *link)
{
    fixture *f = data;

    (void)link;
    f->closes++;
}

static const fake_server server = {
    .on_connect = on_connect,
    .on_command = on_command,
    .on_close = on_close,
};

static fixture *fixture_new(uint64_t seed)
{
    fixture *f = calloc(1, sizeof(*f));

    f->world = fake_world_new(seed, &server, f);
    f->base = &f->world->process.base;
    f->world->path->open_ns = 3 * FAKE_MS;
    assert_true(witness_start(&f->w, f->base));
    return f;
}

static void fixture_free(fixture *f)
{
    witness_stop(&f->w);
    fake_world_free(f->world);
    free(f);
}

static int setup(void **state)
{
    *state = fixture_new(1);
    return 0;
}

static int teardown(void **state)
{
    fixture_free(*state);
    return 0;
}

static void send_text(fixture *f, const char *text)
{
    assert_int_equal(witness_send(&f->link, text, strlen(text)), strlen(text));
}

#define PING "*1\r\n$4\r\nPING\r\n"

/* Opens the link; it stands when this returns. */
static void open_link(fixture *f)
{
    assert_true(witness_open(&f->w, &f->link, &somewhere));
    assert_int_equal(f->link.opens, 0);
    fake_world_run_for(f->world, 3 * FAKE_MS);
    assert_int_equal(f->link.opens, 1);
    assert_int_equal(f->link.open_error, f->connect_answer);
}

#define TEST(name) CHECK_TEST_OF(name, fixture *f, setup, teardown)

/* ---- streams ------------------------------------------------------------ */

TEST(a_command_is_answered_after_both_ways)
{
    open_link(f);
    assert_int_equal(fake_world_now(f->world), FAKE_START + 3 * FAKE_MS);
    send_text(f, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    fake_world_run_for(f->world, 2 * FAKE_MS - 1);
    assert_string_equal(f->last, "GET k ");
    assert_int_equal(f->link.received, 0);
    fake_world_run_for(f->world, 1);
    assert_int_equal(f->link.sum, witness_sum(0, 0, "+OK\r\n", 5));
}

TEST(commands_may_come_in_parts_and_together)
{
    open_link(f);
    send_text(f, "*1\r\n$4\r\nPI");
    fake_world_run_for(f->world, 5 * FAKE_MS);
    assert_int_equal(f->commands, 0);
    send_text(f, "NG\r\n" PING "*1\r\n$4\r\nEC");
    send_text(f, "HO\r\n");
    fake_world_run_for(f->world, 5 * FAKE_MS);
    assert_int_equal(f->commands, 3);
    assert_string_equal(f->last, "ECHO ");
    assert_int_equal(f->link.received, 15);
}

TEST(a_server_may_refuse)
{
    f->connect_answer = -ECONNREFUSED;
    open_link(f);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
}

TEST(a_server_may_be_silent)
{
    f->connect_answer = SIM_SILENT;
    assert_true(witness_open(&f->w, &f->link, &somewhere));
    fake_world_run_for(f->world, 100000 * FAKE_MS);
    assert_int_equal(f->link.opens, 0);
    fake_break(fake_world_link(f->world, 0));
    fake_world_run_for(f->world, FAKE_MS);
    assert_int_equal(f->link.open_error, -ECONNRESET);
    assert_int_equal(f->link.ends, 0);
}

TEST(a_command_runs_though_its_sender_has_closed)
{
    open_link(f);
    send_text(f, PING);
    witness_close(&f->link);
    assert_int_equal(fake_world_link_count(f->world), 0);
    fake_world_run_for(f->world, 5 * FAKE_MS);
    assert_int_equal(f->commands, 1);
    assert_int_equal(f->closes, 1);
    assert_int_equal(f->link.received + (uint64_t)f->link.strays, 0);
}

TEST(an_end_comes_after_what_was_sent)
{
    open_link(f);
    fake_say_in(fake_world_link(f->world, 0), 7 * FAKE_MS, "-ERR\r\n");
    fake_end(fake_world_link(f->world, 0));
    fake_world_run_for(f->world, 8 * FAKE_MS - 1);
    assert_int_equal(f->link.ends, 0);
    fake_world_run_for(f->world, 1);
    assert_int_equal(f->link.received, 6);
    assert_int_equal(f->link.ends, 1);
    assert_int_equal(f->link.end_error, 0);
}

TEST(a_break_loses_what_is_under_way)
{
    open_link(f);
    send_text(f, PING);
    fake_say(fake_world_link(f->world, 0), "+lost\r\n");
    fake_break(fake_world_link(f->world, 0));
    send_text(f, PING);
    fake_world_run_for(f->world, 5 * FAKE_MS);
    assert_int_equal(f->commands, 0);
    assert_int_equal(f->link.received, 0);
    assert_int_equal(f->link.ends, 1);
    assert_int_equal(f->link.end_error, -ECONNRESET);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
}

TEST(a_stall_delays_both_ways_and_keeps_the_order)
{
    uint64_t until;

    open_link(f);
    until = fake_world_now(f->world) + 50 * FAKE_MS;
    send_text(f, "*1\r\n$1\r\nA\r\n");
    fake_say(fake_world_link(f->world, 0), "+1\r\n");
    fake_stall(fake_world_link(f->world, 0), until);
    send_text(f, "*1\r\n$1\r\nB\r\n");
    fake_world_run(f->world, until - 1);
    assert_int_equal(f->commands, 0);
    assert_int_equal(f->link.received, 0);
    fake_world_run(f->world, until);
    assert_int_equal(f->commands, 2);
    assert_string_equal(f->last, "B ");
    assert_int_equal(f->link.received, 4);
}

TEST(a_full_stream_takes_less_and_tells_when_it_has_room)
{
    f->world->process.send_limit = 10;
    open_link(f);
    assert_int_equal(witness_send(&f->link, PING, 14), 10);
    assert_int_equal(witness_send(&f->link, &PING[10], 4), 0);
    fake_world_run_for(f->world, 2 * FAKE_MS - 1);
    assert_int_equal(f->link.writables, 0);
    fake_world_run_for(f->world, 1);
    assert_int_equal(f->link.writables, 1);
    assert_int_equal(witness_send(&f->link, &PING[10], 4), 4);
    fake_world_run_for(f->world, 5 * FAKE_MS);
    assert_int_equal(f->commands, 1);
    assert_int_equal(f->link.writables, 1);
}

/* ---- time --------------------------------------------------------------- */

TEST(the_timer_fires_at_its_time_and_once)
{
    f->base->class->set_timer(f->base, FAKE_START + 10);
    f->base->class->set_timer(f->base, FAKE_START + 20);
    fake_world_run(f->world, FAKE_START + 19);
    assert_int_equal(f->w.timers, 0);
    fake_world_run(f->world, FAKE_START + 1000);
    assert_int_equal(f->w.timers, 1);
    assert_int_equal(f->w.last_timer, FAKE_START + 20);
    f->base->class->set_timer(f->base, 0);
    fake_world_run_for(f->world, 0);
    assert_int_equal(f->w.timers, 2);
}

TEST(wakes_that_nobody_met_are_one)
{
    f->base->class->wake(f->base);
    f->base->class->wake(f->base);
    assert_int_equal(f->w.wakes, 0);
    fake_world_run_for(f->world, 0);
    assert_int_equal(f->w.wakes, 1);
    assert_false(fake_world_step(f->world));
}

static void ask_is_loop(witness *w, witness_link *link)
{
    (void)link;
    *(bool *)w->data = w->world->class->is_loop(w->world);
}

TEST(only_an_event_runs_in_the_loop)
{
    bool is_loop = false;

    witness_hook(&f->w, ask_is_loop, &is_loop);
    f->base->class->wake(f->base);
    fake_world_run_for(f->world, 0);
    assert_true(is_loop);
    assert_false(f->base->class->is_loop(f->base));
}

TEST(after_a_freeze_all_is_late_and_in_order)
{
    open_link(f);
    send_text(f, PING);
    f->base->class->set_timer(f->base, fake_world_now(f->world) + FAKE_MS);
    fake_world_freeze(f->world, 1000 * FAKE_MS);
    assert_int_equal(f->commands, 0);
    assert_int_equal(f->w.timers, 0);
    fake_world_run_for(f->world, 0);
    assert_int_equal(f->commands, 1);
    assert_int_equal(f->w.timers, 1);
    assert_int_equal(f->w.last_timer, FAKE_START + 1003 * FAKE_MS);
}

/* ---- parking ------------------------------------------------------------ */

typedef struct sleeper {
    lk__world *base;
    lk__parking parking;
    uint64_t inner_until; /* 0: the call does not park itself */
    bool was_unparked;
} sleeper;

static void unpark(void *data)
{
    sleeper *s = data;
    lk__parking inner;

    s->base->class->unpark(s->base, &s->parking);
    if (s->inner_until == 0)
        return;
    s->base->class->parking_init(s->base, &inner);
    s->was_unparked = s->base->class->park(s->base, &inner, s->inner_until);
}

TEST(a_park_lets_time_pass_until_it_is_unparked)
{
    sleeper s = {.base = f->base};

    f->base->class->parking_init(f->base, &s.parking);
    fake_world_at(f->world, FAKE_START + 40, unpark, &s);
    assert_true(f->base->class->park(f->base, &s.parking, LK__NEVER));
    assert_int_equal(fake_world_now(f->world), FAKE_START + 40);
    assert_false(f->base->class->park(f->base, &s.parking, FAKE_START + 50));
    assert_int_equal(fake_world_now(f->world), FAKE_START + 50);
    assert_false(f->base->class->park(f->base, &s.parking, 0));
    assert_int_equal(fake_world_now(f->world), FAKE_START + 50);
}

TEST(a_park_may_happen_within_another)
{
    sleeper s = {.base = f->base, .inner_until = FAKE_START + 90};

    s.was_unparked = true;
    f->base->class->parking_init(f->base, &s.parking);
    fake_world_at(f->world, FAKE_START + 40, unpark, &s);
    assert_true(f->base->class->park(f->base, &s.parking, FAKE_START + 60));
    assert_false(s.was_unparked);
    assert_int_equal(fake_world_now(f->world), FAKE_START + 90);
}

/* ---- runs --------------------------------------------------------------- */

/* A run in which chance decides much; returns its trace. */
static uint64_t run_trace(uint64_t seed)
{
    fixture *f = fixture_new(seed);
    uint64_t trace;
    char id[8];
    int i;

    open_link(f);
    f->world->path->jitter_ns[SIM_THERE] = FAKE_MS;
    f->world->path->jitter_ns[SIM_BACK] = FAKE_MS;
    for (i = 0; i < 20; i++) {
        send_text(f, PING);
        f->base->class->random(f->base, id, sizeof(id));
        f->base->class->set_timer(f->base, fake_world_now(f->world) +
                                               (unsigned char)id[0]);
        fake_world_run_for(f->world, fake_world_random(f->world, FAKE_MS));
    }
    fake_world_run_for(f->world, 100 * FAKE_MS);
    assert_int_equal(f->commands, 20);
    assert_int_equal(f->link.received, 100);
    trace = f->world->schedule.trace;
    fixture_free(f);
    return trace;
}

/* What a world of that seed draws first, for the library and for the test. */
static void draw(uint64_t seed, uint64_t ret_numbers[2])
{
    fake_world *world = fake_world_new(seed, &server, NULL);
    lk__world *base = &world->process.base;

    base->class->random(base, &ret_numbers[0], sizeof(ret_numbers[0]));
    ret_numbers[1] = fake_world_random(world, UINT64_MAX);
    fake_world_free(world);
}

CHECK_TEST(each_seed_has_its_own_chance)
{
    uint64_t one[2], again[2], other[2];

    draw(1, one);
    draw(1, again);
    draw(2, other);
    assert_memory_equal(one, again, sizeof(one));
    assert_true(one[0] != other[0]);
    assert_true(one[1] != other[1]);
    assert_true(one[0] != one[1]);
}

CHECK_TEST(one_seed_makes_one_run)
{
    assert_true(run_trace(42) == run_trace(42));
    assert_true(run_trace(42) != run_trace(43));
}

int test_fake_world(void)
{
    return check_all(NULL, NULL);
}
