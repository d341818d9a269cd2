/* SPDX-License-Identifier: MIT */

/* What programs do with what is held. A step whose beginning failed is left
   out. */

#include <stdio.h>

#include "support/twisted_scenes.h"

enum {
    LEASE_MS = 30000, /* the watchdog's */
    EXTENDED_MS = 60000,
    LONG_MS = 600000, /* a lease that outlasts any scene */
    WAIT_MS = 20000,
    SHORT_MS = 200,
    CALM_MS = 20
};

typedef struct async {
    twisted *t;
    thing_kind kind;
    lk_hold *hold;
} async;

static void on_acquire(lk_status status, lk_hold *hold, void *data)
{
    async *a = data;

    a->t->ended++;
    (void)twisted_had(a->t, "async acquire", a->kind, status, &hold, LEASE_MS);
    a->hold = hold;
}

/* ---- things that are held ----------------------------------------------------------- */

static lk_hold *take(twisted *t, const thing *it, int64_t wait_ms)
{
    uint64_t began = t->schedule.now;
    lk_hold *hold = NULL;
    lk_status status = thing_acquire(it, wait_ms, NULL, &hold);

    twisted_in_time(t, "acquire", began, (uint64_t)wait_ms);
    (void)twisted_had(t, "acquire", it->kind, status, &hold, LEASE_MS);
    return hold;
}

/* What an honest client holds. */
static lk_hold *take_honest(twisted *t, thing *it, thing_kind kind)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = LONG_MS};
    lk_hold *hold = NULL;

    if (thing_new(it, kind, t->honest, "n") != LK_OK ||
        thing_acquire(it, 0, &options, &hold) != LK_OK)
        twisted_wrong(t, "the honest one", LK_OK);
    return hold;
}

static void alone(twisted *t, thing_kind kind)
{
    lk_info *info = NULL;
    lk_hold *hold;
    thing it;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    hold = take(t, &it, SHORT_MS);
    if (hold != NULL) {
        twisted_run_ms(t, LEASE_MS / 2); /* it is renewed */
        (void)twisted_good(t, "extend", lk_hold_extend(hold, EXTENDED_MS));
        if (lk_hold_remaining_ms(hold) > EXTENDED_MS)
            twisted_wrong(t, "a lease that is too long", LK_OK);
    }
    if (twisted_good(t, "info", thing_info(&it, &info)))
        lk_info_free(info);
    twisted_give(t, hold);
    (void)twisted_good(t, "forget", lk_forget(t->client, "n"));
    thing_free(&it);
}

static void carried(twisted *t, thing_kind kind)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold, *again = NULL;
    thing it;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    hold = take(t, &it, SHORT_MS);
    if (hold != NULL &&
        twisted_good(t, "export", lk_hold_export(hold, text, sizeof(text)))) {
        (void)twisted_had(t, "import", kind, thing_import(&it, text, &again),
                          &again, LEASE_MS);
        hold = again;
    }
    twisted_give(t, hold);
    thing_free(&it);
}

typedef struct later {
    sim_event event; /* first */
    lk_hold *hold;   /* NULL: released */
} later;

static void release_honest(later *l)
{
    if (l->hold != NULL)
        (void)lk_hold_release(l->hold);
    l->hold = NULL;
}

static void on_later(sim_event *event)
{
    release_honest((later *)event);
}

/* Two wait, until what another holds becomes free. */
static void wait_for(twisted *t, thing_kind kind)
{
    thing theirs, it;
    later l = {{.happen = on_later}, take_honest(t, &theirs, kind)};
    async second = {.t = t, .kind = kind};
    lk_hold *hold;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    twisted_begun(t,
                  thing_acquire_async(&it, WAIT_MS, NULL, on_acquire, &second));
    sim_event_set(&t->schedule, &l.event,
                  t->schedule.now + WAIT_MS / 2 * SIM_MS);
    hold = take(t, &it, WAIT_MS);
    twisted_give(t, hold);
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    twisted_give(t, second.hold);
    sim_event_clear(&t->schedule, &l.event);
    release_honest(&l);
    thing_free(&it);
    thing_free(&theirs);
}

static void waits(twisted *t, thing_kind kind)
{
    wait_for(t, kind);
}

/* The first is told that its turn has come, and it has not. */
static void told_to_look(twisted *t, thing_kind kind)
{
    static const char *const touches[THING_KINDS] = {"lock_touch", "lock_touch",
                                                     "rwlock_touch",
                                                     "semaphore_touch", NULL};

    t->also = (twisted_plan){.script = touches[kind],
                             .number = 1,
                             .how = {2, TWIST_ONE}};
    wait_for(t, kind);
}

/* What was asked for is given up before an answer is there. */
static void canceled(twisted *t, thing_kind kind)
{
    async a = {.t = t, .kind = kind};
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    thing it;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    (void)twisted_good(t, "cancel", lk_cancel_new(&options.cancel, t->client));
    twisted_begun(t,
                  thing_acquire_async(&it, WAIT_MS, &options, on_acquire, &a));
    twisted_run_ms(t, 1);
    lk_cancel_fire(options.cancel);
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    twisted_give(t, a.hold);
    lk_cancel_free(options.cancel);
    thing_free(&it);
}

static void gives_up(twisted *t, thing_kind kind)
{
    thing theirs, it;
    later l = {{.happen = on_later}, take_honest(t, &theirs, kind)};

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    twisted_give(t, take(t, &it, SHORT_MS));
    release_honest(&l);
    twisted_give(t, take(t, &it, WAIT_MS));
    thing_free(&it);
    thing_free(&theirs);
}

static void on_honest(lk_status status, lk_hold *hold, void *data)
{
    (void)status;
    *(lk_hold **)data = hold;
}

static void hands_over(twisted *t, thing_kind kind)
{
    static lk_hold *next; /* what was asked for may outlast the scene */
    thing theirs, it;
    lk_hold *hold;

    next = NULL;
    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    hold = take(t, &it, SHORT_MS);
    if (thing_new(&theirs, kind, t->honest, "n") != LK_OK ||
        thing_acquire_async(&theirs, EXTENDED_MS, NULL, on_honest, &next) !=
            LK_OK)
        twisted_wrong(t, "the honest one", LK_OK);
    twisted_run_ms(t, CALM_MS);
    twisted_give(t, hold);
    twisted_run_ms(t, CALM_MS);
    twisted_run_ms(t, CALM_MS);
    if (next != NULL)
        (void)lk_hold_release(next);
    next = NULL;
    twisted_run_ms(t, EXTENDED_MS + TWISTED_LATE_MS);
    if (next != NULL)
        (void)lk_hold_release(next);
    thing_free(&it);
    thing_free(&theirs);
}

/* From one owner to another one of the same client. */
static void passed_within(twisted *t, thing_kind kind)
{
    async second = {.t = t, .kind = kind};
    lk_hold *hold;
    thing it;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    hold = take(t, &it, SHORT_MS);
    twisted_begun(t,
                  thing_acquire_async(&it, WAIT_MS, NULL, on_acquire, &second));
    twisted_run_ms(t, CALM_MS);
    twisted_give(t, hold);
    twisted_run_ms(t, WAIT_MS + TWISTED_LATE_MS);
    twisted_give(t, second.hold);
    thing_free(&it);
}

static void operated(twisted *t, thing_kind kind)
{
    thing theirs, it;
    later l = {{.happen = on_later}, take_honest(t, &theirs, kind)};
    char owner[80] = "nobody:1";
    lk_info *info = NULL;
    int64_t left_ms;

    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    if (twisted_good(t, "info", thing_info(&it, &info))) {
        if (info->holder_count > 0 && info->holders[0]->owner[0] != '\0')
            (void)snprintf(owner, sizeof(owner), "%s", info->holders[0]->owner);
        lk_info_free(info);
    }
    (void)twisted_good(t, "revoke", thing_revoke(&it, owner, &left_ms));
    (void)twisted_good(t, "force", thing_force(&it, owner));
    twisted_run_ms(t, CALM_MS);
    release_honest(&l);
    thing_free(&it);
    thing_free(&theirs);
}

/* A release that has to be gone on with. */
static void passes_on(twisted *t, thing_kind kind)
{
    static const char *const releases[THING_KINDS] = {"lock_release",
                                                      "lock_release",
                                                      "rwlock_release",
                                                      "semaphore_release",
                                                      NULL};
    thing it;

    t->also = (twisted_plan){.script = releases[kind],
                             .number = 1,
                             .how = {2, TWIST_ONE}};
    (void)twisted_good(t, "new", thing_new(&it, kind, t->client, "n"));
    twisted_give(t, take(t, &it, SHORT_MS));
    twisted_run_ms(t, CALM_MS);
    thing_free(&it);
}

const twisted_scene twisted_things[] = {
    {"alone", alone},           {"carried", carried},
    {"waits", waits},           {"told to look", told_to_look},
    {"canceled", canceled},     {"gives up", gives_up},
    {"hands over", hands_over}, {"passed within", passed_within},
    {"operated", operated},     {"passes on", passes_on},
};

const unsigned twisted_thing_count =
    sizeof(twisted_things) / sizeof(twisted_things[0]);
