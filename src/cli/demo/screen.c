/* SPDX-License-Identifier: MIT */

/*
 * On a terminal each scene is a picture that is redrawn in place: a line for
 * each process, its course of time from left to right.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/demo/demo.h"
#include "cli/output.h"

/* Of the picture: lines under the actors, and what a terminal must have. */
enum { LINES_BELOW = 2 + DEMO_EVENTS, ROWS = 24, COLUMNS = 80, TRIES = 100 };

static const char marks[] =
    {[DEMO_STARTING] = ' ', [DEMO_IDLE] = ' ',    [DEMO_WAITING] = '.',
     [DEMO_INSIDE] = '#',   [DEMO_WRITING] = 'W', [DEMO_DEAD] = 'x'};

/* ---- the course of time ------------------------------------------------- */

/* All states at one moment: looked at again if one changed meanwhile. */
static void states_look(demo_stage *stage, char *to)
{
    for (int i = 0; i < TRIES; i++) {
        const unsigned changes = atomic_load(&stage->changes);

        for (int actor = 0; actor < DEMO_ACTORS; actor++)
            to[actor] = marks[atomic_load(&stage->actors[actor].state)];
        if (atomic_load(&stage->changes) == changes)
            return;
    }
}

static void add_column(demo *d)
{
    demo_screen *screen = &d->screen;
    char states[DEMO_ACTORS];

    states_look(&d->board->stage, states);
    for (int i = 0; i < DEMO_ACTORS; i++) {
        char *course = screen->course[i];

        if (screen->columns == DEMO_COLUMNS)
            memmove(course, course + 1, DEMO_COLUMNS - 1);
        else
            course[screen->columns + 1] = '\0';
        course[screen->columns - (screen->columns == DEMO_COLUMNS)] = states[i];
    }
    if (screen->columns < DEMO_COLUMNS)
        screen->columns++;
}

static cli_style style_of(char mark)
{
    switch (mark) {
    case '#':
        return CLI_GREEN;
    case 'W':
        return CLI_YELLOW;
    case 'x':
        return CLI_RED;
    default:
        return CLI_FAINT;
    }
}

/* One colour for each run of the same mark. */
static void put_course(const cli *c, const char *course)
{
    for (const char *at = course; *at != '\0';) {
        const size_t run = strspn(at, (char[]){*at, '\0'});

        cli_paint(c, stdout, style_of(*at));
        (void)fwrite(at, 1, run, stdout);
        cli_paint(c, stdout, CLI_PLAIN);
        at += run;
    }
    (void)printf("%*s", DEMO_COLUMNS - (int)strlen(course), "");
}

static void put_bar(const cli *c, uint64_t done, uint64_t most)
{
    char bar[DEMO_COLUMNS + 1];
    const size_t width = most > 0 ? (size_t)(done * DEMO_COLUMNS / most) : 0;

    memset(bar, '#', width);
    bar[width] = '\0';
    put_course(c, bar);
}

/* ---- the picture -------------------------------------------------------- */

static uint64_t most_done(const demo *d)
{
    uint64_t most = 0;

    for (int i = 0; i < d->scene->actors; i++) {
        const uint64_t done = atomic_load(&d->board->stage.actors[i].done);

        most = done > most ? done : most;
    }
    return most;
}

static void draw_actor(const demo *d, int index, uint64_t most)
{
    const uint64_t done = atomic_load(&d->board->stage.actors[index].done);

    (void)printf("  %-6s %d  ", d->scene->actor, index + 1);
    if (d->scene->has_bars)
        put_bar(d->c, done, most);
    else
        put_course(d->c, d->screen.course[index]);
    if (d->scene->unit != NULL)
        (void)printf("%8" PRIu64 " %s", done, d->scene->unit);
    (void)fputs("\033[K\n", stdout);
}

static void draw_below(const demo *d)
{
    char text[DEMO_WORDS];

    d->scene->status(d, text, sizeof(text));
    (void)printf("\033[K\n  %s\033[K\n", text);
    for (int i = 0; i < DEMO_EVENTS; i++)
        (void)printf("%s\033[K\n", d->screen.event[i]);
}

static void draw_picture(demo *d)
{
    const uint64_t most = most_done(d);

    if (d->screen.drawn > 0)
        (void)printf("\033[%dA", d->screen.drawn);
    for (int i = 0; i < d->scene->actors; i++)
        draw_actor(d, i, most);
    draw_below(d);
    d->screen.drawn = d->scene->actors + LINES_BELOW;
    (void)cli_flush();
}

/* A column, and a picture, for each 100 ms. */
void demo_draw(demo *d)
{
    const uint64_t step = (d->board->is_quick ? 40U : 100U) * UINT64_C(1000000);
    const uint64_t now = demo_now();

    if (!d->screen.is_live || now - d->screen.column_at < step)
        return;
    d->screen.column_at = now;
    add_column(d);
    draw_picture(d);
}

void demo_draw_last(demo *d)
{
    if (d->screen.is_live)
        draw_picture(d);
}

/* ---- whether ------------------------------------------------------------ */

bool demo_can_draw(void)
{
    const char *terminal = getenv("TERM");
    struct winsize size;

    return isatty(STDOUT_FILENO) != 0 && terminal != NULL &&
           strcmp(terminal, "dumb") != 0 &&
           ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
           size.ws_row >= ROWS && size.ws_col >= COLUMNS;
}

void demo_picture_tell(demo *d, const char *text)
{
    demo_screen *screen = &d->screen;

    if (screen->events == DEMO_EVENTS) {
        memmove(screen->event[0], screen->event[1],
                (DEMO_EVENTS - 1) * sizeof(screen->event[0]));
        screen->events--;
    }
    (void)snprintf(screen->event[screen->events++], DEMO_WORDS, "%6.2f s  %s",
                   demo_seconds(d), text);
}
