/* SPDX-License-Identifier: MIT */

/* A deployment that starts together: a latch that opens when all are there. */

#include <latchkey/latch.h>

#include <stdio.h>

#include "cli/clock.h"
#include "cli/demo/demo.h"

enum { MEMBERS = 8 };

/* ---- a member ----------------------------------------------------------- */

/* How long its start takes; no two the same, the last one by far. */
static uint64_t boot_ms(const demo_board *board, int self)
{
    const int order = (self * 3 + 2) % MEMBERS;
    const uint64_t ms = 100 + (uint64_t)order * 250 + (order == 7 ? 1200 : 0);

    return board->is_quick ? ms / 16 : ms;
}

static lk_status play(demo_board *board, int self, lk_client *client)
{
    demo_stage *stage = &board->stage;
    demo_actor *actor = &stage->actors[self];
    lk_latch *latch = NULL;
    lk_status status = lk_latch_new(&latch, client, "demo:fleet", NULL);
    char name[16];

    (void)snprintf(name, sizeof(name), "web-%d", self + 1);
    demo_become(stage, self, DEMO_IDLE);
    cli_pass_ms(boot_ms(board, self));
    demo_become(stage, self, DEMO_WAITING);
    atomic_store(&actor->came_at, demo_now());
    if (status == LK_OK)
        status = lk_latch_arrive(latch, MEMBERS, name);
    if (status == LK_OK)
        status = lk_latch_wait(latch, DEMO_PATIENCE_MS, NULL);
    if (status == LK_OK) {
        atomic_store(&actor->began_at, demo_now());
        demo_become(stage, self, DEMO_INSIDE);
        while (!atomic_load(&stage->stop))
            cli_pass_ms(5);
    }
    lk_latch_free(latch);
    return status;
}

/* ---- the plot ----------------------------------------------------------- */

typedef struct times {
    int came, began;
    uint64_t last_came, first_began, last_began;
} times;

static times look(const demo *d)
{
    times t = {.first_began = UINT64_MAX};

    for (int i = 0; i < MEMBERS; i++) {
        const demo_actor *actor = &d->board->stage.actors[i];
        const uint64_t came = atomic_load(&actor->came_at);
        const uint64_t began = atomic_load(&actor->began_at);

        t.came += came != 0;
        t.began += began != 0;
        if (came > t.last_came)
            t.last_came = came;
        if (began > t.last_began)
            t.last_began = began;
        if (began != 0 && began < t.first_began)
            t.first_began = began;
    }
    return t;
}

static bool direct(demo *d)
{
    const times t = look(d);

    if (t.came > d->step) {
        d->step = t.came;
        demo_tell(d, "%d of %d have started up and %s", t.came, MEMBERS,
                  t.came < MEMBERS ? "wait" : "nobody is missing");
    }
    if (t.began == MEMBERS && d->step == MEMBERS) {
        d->step++;
        demo_tell(d, "all %d have begun", MEMBERS);
    }
    return d->step > MEMBERS &&
           demo_now() - t.last_began >=
               (d->board->is_quick ? 20U : 1200U) * UINT64_C(1000000);
}

static void status(const demo *d, char *text, size_t size)
{
    const times t = look(d);

    (void)snprintf(text, size, "%d of %d are there, %d have begun", t.came,
                   MEMBERS, t.began);
}

static void judge(demo *d)
{
    const times t = look(d);
    const bool have_all = t.came == MEMBERS && t.began == MEMBERS;

    demo_check(d, have_all && t.first_began > t.last_came,
               "nobody began before the last one had come");
    demo_check(d, have_all,
               "all %d began, the last one %.1f ms after the latch was full",
               MEMBERS,
               have_all ? (double)(t.last_began - t.last_came) / 1e6 : 0.0);
}

const demo_scene demo_scene_fleet = {
    .title = "A fleet that starts together",
    .about = "8 processes start up, each in its own time, and wait at a latch "
             "that opens\nwhen all of them are there.",
    .legend = "(. waits  # has begun)\n",
    .actor = "web",
    .unit = NULL,
    .actors = MEMBERS,
    .play = play,
    .direct = direct,
    .status = status,
    .judge = judge,
};
