/* SPDX-License-Identifier: MIT */

/*
 * What every script answers, changed at every place in every way, while a
 * program does what programs do: each call ends in its time with an answer or
 * with words, nobody holds what was not granted, nothing is left behind and the
 * name can be had again. A slice of them; with LK_LONG each.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/script.h"
#include "support/check.h"
#include "support/twisted_scenes.h"
#include "support/wait.h"

enum { SLICE = 23, TIMES_MOST = 2, WRONG_MOST = 10 };

extern const lk__script *const all_scripts[];

static sim_engine *engine;
static unsigned turn, runs, wrong;

typedef struct trial {
    const twisted_scene *scene;
    thing_kind kind;
    bool is_thing;
    twisted_plan plan;
} trial;

static void tell(const trial *r, const char *what)
{
    wrong++;
    print_message("%s, %s: %s %u, place %u, %s: %s\n", r->scene->word,
                  thing_word(r->kind), r->plan.script, r->plan.number,
                  r->plan.how.place, twist_word(r->plan.how.way), what);
}

/* Plays it in t, which is to be closed. */
static void play(const trial *r, twisted *t)
{
    twisted_open(t, engine);
    t->plan = r->plan;
    r->scene->play(t, r->kind);
    twisted_end(t);
    if (r->is_thing)
        twisted_see_free(t, r->kind);
    runs++;
    if (t->wrong[0] != '\0')
        tell(r, t->wrong);
}

/* ---- each script ------------------------------------------------------------------ */

/* With no answer changed: which scripts are run, with which answers. */
static void listen(const trial *r, twisted *t)
{
    play(r, t);
    assert_true(t->call_count > 0 && t->call_count < TWISTED_CALLS);
    twisted_close(t);
}

static unsigned number_of(const twisted *t, unsigned call)
{
    unsigned number = 0;

    for (unsigned i = 0; i <= call; i++)
        number += strcmp(t->calls[i].script, t->calls[call].script) == 0;
    return number;
}

/* One answer, at all its places. */
static void twist_call(trial *r, const twisted_call *call, unsigned step)
{
    static twisted t;

    for (unsigned place = 0; place < call->places; place++) {
        for (int way = 0; way < TWIST_WAYS && wrong < WRONG_MOST; way++) {
            if (turn++ % step != 0)
                continue;
            r->plan.how = (twist){place, (twist_way)way};
            play(r, &t);
            twisted_close(&t);
        }
    }
}

static void twist_all(trial *r)
{
    static twisted calm;
    const unsigned slice = SLICE * (unsigned)wait_scale();
    const unsigned step = getenv("LK_LONG") != NULL ? 1 : slice;

    listen(r, &calm);
    for (unsigned i = 0; i < calm.call_count; i++) {
        r->plan.script = calm.calls[i].script;
        r->plan.number = number_of(&calm, i);
        if (r->plan.number <= TIMES_MOST)
            twist_call(r, &calm.calls[i], step);
    }
}

static void each_scene(void (*act)(trial *r))
{
    for (unsigned i = 0; i < twisted_thing_count * THING_KINDS; i++) {
        trial r = {.scene = &twisted_things[i / THING_KINDS],
                   .kind = (thing_kind)(i % THING_KINDS),
                   .is_thing = true};

        act(&r);
    }
    for (unsigned i = 0; i < twisted_other_count; i++) {
        trial r = {.scene = &twisted_others[i]};

        act(&r);
    }
}

CHECK_TEST(every_answer_may_be_changed)
{
    each_scene(twist_all);
    print_message("%u runs\n", runs);
    assert_int_equal(wrong, 0);
}

/* ---- all scripts ------------------------------------------------------------------ */

static bool *has_run; /* of all_scripts */

static void note_scripts(trial *r)
{
    static twisted t;

    listen(r, &t);
    for (unsigned i = 0; i < t.call_count; i++) {
        for (unsigned s = 0; s < lk__script_count; s++)
            has_run[s] |= strcmp(all_scripts[s]->name, t.calls[i].script) == 0;
    }
}

CHECK_TEST(every_script_is_run)
{
    has_run = calloc(lk__script_count, sizeof(*has_run));
    assert_non_null(has_run);
    each_scene(note_scripts);
    for (unsigned s = 0; s < lk__script_count; s++) {
        if (!has_run[s]) {
            print_message("%s is not run\n", all_scripts[s]->name);
            wrong++;
        }
    }
    free(has_run);
    assert_int_equal(wrong, 0);
}

/* ---- a lease stays what was named ------------------------------------------------- */

static void note_status(lk_status status, void *data)
{
    *(lk_status *)data = status;
}

/* The first client's connection is cut, and the next one stands a second later. */
static void cut(twisted *t)
{
    const lk__link *last = t->process.links;

    for (lk__link *link = t->process.links; link != NULL; link = link->next) {
        if (sim_link_is_open(link))
            sim_link_break(link, &(sim_break){.client_told = true});
    }
    while (t->process.links == last)
        assert_true(sim_step(&t->schedule, SIM_NEVER));
    for (int way = 0; way < SIM_WAYS; way++)
        sim_link_stall(t->process.links, (sim_way)way,
                       t->schedule.now + 1000 * SIM_MS);
}

/* It waits for the connection first. */
CHECK_TEST(a_downgrade_that_is_sent_late_makes_no_lease_longer)
{
    const lk_acquire_options named = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 5000};
    static twisted t;
    lk_rwlock *rwlock = NULL;
    lk_hold *hold = NULL;
    lk_status status = LK_ETIMEDOUT;
    uint64_t end;

    twisted_open(&t, engine);
    assert_status(lk_rwlock_new(&rwlock, t.client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_write(rwlock, 0, &named, &hold), LK_OK);
    twisted_run_ms(&t, 1000);
    end = t.schedule.now + lk_hold_remaining_ms(hold) * SIM_MS;
    cut(&t);
    assert_status(lk_rwlock_downgrade_async(hold, note_status, &status), LK_OK);
    twisted_run_ms(&t, 2000);
    assert_status(status, LK_OK);
    assert_in_range(t.schedule.now + lk_hold_remaining_ms(hold) * SIM_MS, 0,
                    end + SIM_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(rwlock);
    twisted_close(&t);
}

/* As of a server whose clock was set back. */
CHECK_TEST(a_downgrade_is_believed_for_what_it_asked)
{
    static twisted t;
    lk_rwlock *rwlock = NULL;
    lk_hold *hold = NULL;
    uint64_t most_ms;

    twisted_open(&t, engine);
    t.plan = (twisted_plan){.script = "rwlock_downgrade",
                            .number = 1,
                            .how = {2, TWIST_LARGE}};
    assert_status(lk_rwlock_new(&rwlock, t.client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_write(rwlock, 0, NULL, &hold), LK_OK);
    most_ms = lk_hold_remaining_ms(hold);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_true(t.has_lied);
    assert_in_range(lk_hold_remaining_ms(hold), 1, most_ms);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(rwlock);
    twisted_close(&t);
}

/* Of no mode that there is, nobody knows what it may do. */
CHECK_TEST(a_mode_of_an_import_is_one_that_there_is)
{
    static twisted t;
    lk_rwlock *from = NULL, *to = NULL;
    lk_hold *hold = NULL;
    char text[LK_EXPORT_SIZE];

    twisted_open(&t, engine);
    t.plan = (twisted_plan){.script = "rwlock_import",
                            .number = 1,
                            .answer = "*4\r\n:1\r\n:9007199254740991\r\n"
                                      ":30000\r\n$1\r\nx\r\n"};
    assert_status(lk_rwlock_new(&from, t.honest, "n", NULL), LK_OK);
    assert_status(lk_rwlock_new(&to, t.client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(from, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    hold = NULL;
    assert_status(lk_rwlock_import(to, text, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    lk_rwlock_free(from);
    lk_rwlock_free(to);
    twisted_close(&t);
}

/* ---- renewals by several keys ------------------------------------------------------ */

static unsigned count_of(const twisted *t, const char *script)
{
    unsigned count = 0;

    for (unsigned i = 0; i < t->call_count; i++)
        count += strcmp(t->calls[i].script, script) == 0;
    return count;
}

/* A reader has two. What the server is not sure of is asked whole soon, and has
   lengthened nothing. */
CHECK_TEST(a_key_that_is_unsure_is_its_holds)
{
    static twisted t;
    lk_rwlock *rwlock = NULL;
    lk_hold *hold = NULL;
    unsigned keeps;

    twisted_open(&t, engine);
    t.plan = (twisted_plan){.script = "rwlock_renew",
                            .number = 1,
                            .answer = "*2\r\n:1\r\n*2\r\n:2\r\n:5\r\n"};
    assert_status(lk_rwlock_new(&rwlock, t.client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &hold), LK_OK);
    while (!t.has_lied)
        assert_true(sim_step(&t.schedule, SIM_NEVER));
    keeps = count_of(&t, "rwlock_keep");
    twisted_run_ms(&t, 5000);
    assert_int_equal(count_of(&t, "rwlock_keep"), keeps + 1);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(rwlock);
    twisted_close(&t);
}

static int start(NO_STATE)
{
    engine = sim_engine_new();
    return 0;
}

static int stop(NO_STATE)
{
    sim_engine_free(engine);
    return 0;
}

CHECK_GROUP(start, stop)
