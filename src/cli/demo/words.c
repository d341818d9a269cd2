/* SPDX-License-Identifier: MIT */

/*
 * What the demo says: a line for each event, where no picture has it, and for
 * each statement that was checked; with --json one object for each.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/demo/demo.h"
#include "cli/json.h"
#include "cli/output.h"

double demo_seconds(const demo *d)
{
    return (double)(demo_now() - d->began_at) / 1e9;
}

static bool is_for_people(const demo *d)
{
    return !d->c->quiet && !d->c->json;
}

static void
put_json(const demo *d, const char *key, const char *text, const bool *is_true)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_number(&json, "ms", (int64_t)(demo_seconds(d) * 1e3));
    cli_json_text(&json, "scene", d->scene->title);
    cli_json_text(&json, key, text);
    if (is_true != NULL)
        cli_json_bool(&json, "is_true", *is_true);
    cli_json_close(&json, '}');
}

void demo_tell(demo *d, const char *format, ...)
{
    char text[DEMO_WORDS];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (d->screen.is_live)
        demo_picture_tell(d, text);
    else if (d->c->json)
        put_json(d, "event", text, NULL);
    else if (!d->c->quiet)
        (void)printf("%6.2f s  %s\n", demo_seconds(d), text);
    (void)cli_flush();
}

static void put_statement(const cli *c, const char *text, bool is_true)
{
    cli_paint(c, stdout, is_true ? CLI_GREEN : CLI_RED);
    (void)fputs(is_true ? "    true  " : "NOT TRUE  ", stdout);
    cli_paint(c, stdout, CLI_PLAIN);
    (void)printf("%s\n", text);
}

void demo_check(demo *d, bool is_true, const char *format, ...)
{
    char text[2 * DEMO_WORDS];
    va_list arguments;

    d->checks++;
    d->untrue += !is_true;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (d->c->json)
        put_json(d, "statement", text, &is_true);
    else if (!d->c->quiet || !is_true)
        put_statement(d->c, text, is_true);
    (void)cli_flush();
}

/* ---- beginning and end -------------------------------------------------- */

void demo_begin(demo *d)
{
    d->began_at = demo_now();
    d->screen.is_live = is_for_people(d) && demo_can_draw();
    if (is_for_people(d))
        (void)printf("Processes of this machine, on a redis-server of their "
                     "own. What they hold has a\nlease of %" PRIu64
                     " s, which is renewed while they live.\n",
                     d->board->lease_ms / 1000);
}

void demo_scene_begin(demo *d)
{
    const bool is_live = d->screen.is_live;

    memset(&d->screen, 0, sizeof(d->screen));
    d->screen.is_live = is_live;
    if (!is_for_people(d))
        return;
    (void)fputc('\n', stdout);
    cli_paint(d->c, stdout, CLI_BOLD);
    (void)printf("%s\n", d->scene->title);
    cli_paint(d->c, stdout, CLI_PLAIN);
    (void)printf("%s\n%s\n", d->scene->about, is_live ? d->scene->legend : "");
    (void)cli_flush();
}

void demo_end(demo *d)
{
    if (!is_for_people(d))
        return;
    if (d->untrue == 0)
        /* As it was called: it need not be on the path. */
        (void)printf("\nAll %d statements were true, in %.0f s. Next: "
                     "%s help lock\n",
                     d->checks, demo_seconds(d), program_invocation_name);
    else
        (void)printf("\n%d of %d statements were NOT true.\n", d->untrue,
                     d->checks);
    (void)cli_flush();
}
