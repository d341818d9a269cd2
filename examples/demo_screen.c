/* SPDX-License-Identifier: MIT */

/* What the demo shows: a table that is redrawn in place, or plain lines. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo.h"

enum { BAR_WIDTH = 20, LINES_BELOW = 4 };

static const char *const state_words[] = {"starting", "waiting", "holding",
                                          "dead", "failed"};

static double seconds(const screen *view, uint64_t at)
{
    return (double)(at - view->started_at) / 1e3;
}

/* Counts over a second where the screen is redrawn more often. */
static void rate(screen *view, const board *shared)
{
    const uint64_t now = now_ms(), grants = atomic_load(&shared->grants);

    if (now - view->rated_at < 1000)
        return;
    view->rate = (grants - view->rated_grants) * 1000 / (now - view->rated_at);
    view->rated_at = now;
    view->rated_grants = grants;
}

/* ---- in place ---- */

static void draw_worker(const worker *self, int number, uint64_t most)
{
    const int shown = atomic_load(&self->state);
    const uint64_t grants = atomic_load(&self->grants);
    const int width = (int)(most ? grants * BAR_WIDTH / most : 0);
    const char *color = "";

    if (shown == HOLDING)
        color = "\033[32m";
    else if (shown >= DEAD)
        color = "\033[31m";
    printf("\033[K  %-6d  %s%-8s\033[0m  %8" PRIu64 "  %16" PRIu64 "  %.*s\n",
           number, color, state_words[shown], grants,
           (uint64_t)atomic_load(&self->fence), width, "####################");
}

static void draw_kill(const screen *view, const board *shared)
{
    const uint64_t killed = atomic_load(&shared->killed_at);
    const uint64_t passed = atomic_load(&shared->passed_at);

    printf("\033[K");
    if (killed)
        printf("%5.1f s  worker %d held the lock and was killed (kill -9)",
               seconds(view, killed), atomic_load(&shared->staying));
    printf("\n\033[K");
    if (passed)
        printf("%5.1f s  its lease has ended: worker %d has the lock",
               seconds(view, passed), atomic_load(&shared->passed_to));
    printf("\n");
}

static void draw(screen *view, const board *shared)
{
    uint64_t most = 0;

    for (int i = 0; i < WORKERS; i++) {
        const uint64_t grants = atomic_load(&shared->workers[i].grants);

        most = grants > most ? grants : most;
    }
    if (view->drawn)
        printf("\033[%dA", 1 + WORKERS + LINES_BELOW);
    view->drawn = true;
    printf("\033[K  worker  state       grants        last fence\n");
    for (int i = 0; i < WORKERS; i++)
        draw_worker(&shared->workers[i], i + 1, most);
    printf("\033[K\n\033[K%5.1f s  %" PRIu64 " grants/s, two at once: %" PRIu64
           "\n",
           seconds(view, now_ms()), view->rate,
           (uint64_t)atomic_load(&shared->overlaps));
    draw_kill(view, shared);
}

/* ---- plain lines ---- */

static void tell_kill(screen *view, const board *shared)
{
    const uint64_t killed = atomic_load(&shared->killed_at);
    const uint64_t passed = atomic_load(&shared->passed_at);

    if (killed && !view->told_kill)
        printf("%5.1f s  worker %d held the lock and was killed (kill -9)\n",
               seconds(view, killed), atomic_load(&shared->staying));
    view->told_kill = killed;
    if (passed && !view->told_passed)
        printf("%5.1f s  its lease has ended: worker %d has the lock\n",
               seconds(view, passed), atomic_load(&shared->passed_to));
    view->told_passed = passed;
}

static void tell(screen *view, const board *shared)
{
    tell_kill(view, shared);
    if (view->rated_at == view->told_at)
        return;
    view->told_at = view->rated_at;
    printf("%5.1f s  %" PRIu64 " grants/s, two at once: %" PRIu64 "\n",
           seconds(view, view->told_at), view->rate,
           (uint64_t)atomic_load(&shared->overlaps));
}

/* ---- for demo.c ---- */

void screen_start(screen *view)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

    memset(view, 0, sizeof *view);
    view->live = isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
                 strcmp(term, "dumb") != 0;
    view->started_at = view->rated_at = view->told_at = now_ms();
    printf("%d processes want one lock, on a redis-server of their own; its "
           "lease is %d s.\n\n",
           WORKERS, LEASE_MS / 1000);
}

void screen_show(screen *view, const board *shared)
{
    rate(view, shared);
    if (view->live)
        draw(view, shared);
    else
        tell(view, shared);
    fflush(stdout);
}

void screen_end(screen *view, const board *shared)
{
    const uint64_t took = now_ms() - view->started_at;
    const uint64_t grants = atomic_load(&shared->grants);
    const uint64_t handovers = atomic_load(&shared->handovers);
    const uint64_t overlaps = atomic_load(&shared->overlaps);
    const uint64_t old_fences = atomic_load(&shared->old_fences);

    printf("\n%" PRIu64 " grants, %" PRIu64
           " of them from one process to another: %" PRIu64 "/s\n",
           grants, handovers, took ? handovers * 1000 / took : 0);
    printf("two holders at once: %" PRIu64 "\n", overlaps);
    if (old_fences)
        printf("fences not larger than the one before: %" PRIu64 "\n",
               old_fences);
    else
        printf("every fence was larger than the one before\n");
    if (!view->told_passed && !atomic_load(&shared->passed_at))
        printf("the lock did not pass on after the kill\n");
}
