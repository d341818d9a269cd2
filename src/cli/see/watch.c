/* SPDX-License-Identifier: MIT */

/*
 * `latchkey watch`: what happens to a name. It looks, and tells what is
 * different from the last look: no message that the server might lose, and no
 * setting of the server's is relied on.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/output.h"
#include "cli/see/see.h"

enum { LEAST_MS = 50 };

struct values {
    int64_t every_ms, for_ms;
    uint64_t count;
};

static const cli_option options[] = {
    {CLI_TIME, 'd', "every", offsetof(struct values, every_ms), "TIME",
     "how often it looks; 0.25", 0},
    {CLI_TIME, 0, "for", offsetof(struct values, for_ms), "TIME",
     "end after this time", 0},
    {CLI_COUNT, 0, "count", offsetof(struct values, count), "N",
     "end after so many events", 0},
    {CLI_TIME, 'f', "for", offsetof(struct values, for_ms), "TIME", NULL, 0},
    {CLI_COUNT, 'n', "count", offsetof(struct values, count), "N", NULL, 0},
    {.kind = CLI_END},
};

struct watch {
    const cli *c;
    const char *name;
    const struct values *values;
    lk_kind kind;
    lk_info *last; /* NULL: nothing was known */
    bool is_first, is_away;
    uint64_t events;
};

/* ---- one event --------------------------------------------------------------------- */

/* position as of see_json_party(). */
static void put_line(const struct watch *w, const char *event,
                     const lk_party *party, size_t position)
{
    see_page page;
    FILE *to = see_page_begin(&page, w->c, stdout);
    const int64_t now = cli_unix_ms();

    cli_put_date(to, false, now);
    (void)fprintf(to, ".%03d %-8s ", (int)(now % 1000), event);
    if (party != NULL)
        see_put_told(to, w->kind, party, position,
                     "[, {mode}][, fence {fence}][, position {position}][, "
                     "{reason}]");
    (void)fputc('\n', to);
    see_page_end(&page);
}

static void put_document(const struct watch *w, const char *event,
                         const lk_party *party, size_t position)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "event", event);
    cli_json_number(&json, "unix_ms", cli_unix_ms());
    cli_json_text(&json, "name", w->name);
    cli_json_words(&json, "kind", lk_kind_text(w->kind));
    see_json_party(&json, "holder", w->kind, position == 0 ? party : NULL, 0);
    see_json_party(&json, "waiter", w->kind, position > 0 ? party : NULL,
                   position);
    cli_json_close(&json, '}');
}

static void
tell(struct watch *w, const char *event, const lk_party *party, size_t position)
{
    if (w->values->count != 0 && w->events >= w->values->count)
        return;
    (w->c->json ? put_document : put_line)(w, event, party, position);
    (void)cli_flush();
    w->events++;
}

/* ---- what is different --------------------------------------------------------------- */

static bool
is_among(const lk_party *party, const lk_party *const *parties, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parties[i]->owner, party->owner) == 0 &&
            parties[i]->fence == party->fence)
            return true;
    }
    return false;
}

/* Whether nobody was granted it from one look to the next: the one who keeps
   everybody out is the same, with the same fence. */
static bool is_as_before(const lk_info *last, const lk_info *info)
{
    const lk_party *holder = info->holder_count == 1 ? info->holders[0] : NULL;

    return holder != NULL && holder->fence != 0 && last->holder_count == 1 &&
           is_among(holder, last->holders, 1);
}

/* Whether a hold of this kind keeps everybody out. */
static bool is_alone(lk_kind kind, const lk_info *info)
{
    return kind == LK_KIND_LOCK ||
           (kind == LK_KIND_RWLOCK &&
            strcmp(info->holders[0]->mode, "write") == 0);
}

static bool holds(const lk_info *info, const char *owner)
{
    for (size_t i = 0; i < info->holder_count; i++) {
        if (strcmp(info->holders[i]->owner, owner) == 0)
            return true;
    }
    return false;
}

static void tell_gone(struct watch *w, const lk_info *last, const lk_info *info)
{
    const char *word = "gone";

    for (size_t i = 0; i < last->holder_count; i++) {
        if (!is_among(last->holders[i], info->holders, info->holder_count))
            tell(w, "ended", last->holders[i], 0);
    }
    /* Else it may have been granted, and have finished, between two looks. */
    if (is_as_before(last, info) && is_alone(w->kind, info))
        word = "left";
    for (size_t i = 0; i < last->listed_count; i++) {
        const lk_party *waiter = last->waiters[i];

        if (!is_among(waiter, info->waiters, info->listed_count) &&
            !holds(info, waiter->owner))
            tell(w, word, waiter, i + 1);
    }
}

/* An operator has told it to stop since the last look. */
static void tell_revoked(struct watch *w, const lk_party *holder)
{
    const lk_info *last = w->last;

    for (size_t i = 0; last != NULL && i < last->holder_count; i++) {
        if (is_among(holder, &last->holders[i], 1) &&
            !last->holders[i]->revoked)
            tell(w, "revoked", holder, 0);
    }
}

static void tell_new(struct watch *w, const lk_info *last, const lk_info *info)
{
    const char *word = w->is_first ? "holds" : "granted";

    for (size_t i = 0; i < info->holder_count; i++) {
        if (!is_among(info->holders[i], last->holders, last->holder_count))
            tell(w, word, info->holders[i], 0);
        else if (info->holders[i]->revoked)
            tell_revoked(w, info->holders[i]);
    }
    for (size_t i = 0; i < info->listed_count; i++) {
        if (!is_among(info->waiters[i], last->waiters, last->listed_count))
            tell(w, "waits", info->waiters[i], i + 1);
    }
}

static const lk_info none = {.holder_count = 0};

/* What went comes before what came: so the events can be followed. */
static void compare(struct watch *w, const lk_info *info)
{
    const lk_info *last = w->last != NULL ? w->last : &none;

    tell_gone(w, last, info);
    tell_new(w, last, info);
}

/* Takes what a look answered. A name that is not known is one that nobody
   holds. False: it cannot be watched. */
static bool take(struct watch *w, lk_status status, lk_kind kind, lk_info *info)
{
    bool is_away = status == LK_EOFFLINE || status == LK_ETIMEDOUT ||
                   status == LK_ELOADING;

    if (is_away != w->is_away)
        tell(w, is_away ? "away" : "back", NULL, 0);
    w->is_away = is_away;
    if (is_away)
        return true;
    if (status != LK_OK && status != LK_ENOTHELD)
        return false;
    if (status == LK_OK)
        w->kind = kind;
    compare(w, status == LK_OK ? info : &none);
    if (w->is_first && !w->c->json && w->events == 0)
        cli_note(w->c, "nobody holds %s now", w->name);
    w->is_first = false;
    lk_info_free(w->last);
    w->last = info;
    return true;
}

static int watch(struct watch *w, lk_client *client)
{
    int64_t begin = cli_now_ns();
    int64_t every = w->values->every_ms;

    for (;;) {
        lk_info *info = NULL;
        lk_kind kind = LK_KIND_NONE;
        lk_status status = lk_who(client, w->name, &kind, &info);
        int64_t passed;

        if (!take(w, status, kind, info))
            return cli_fail_status(w->c, status, w->name);
        passed = (cli_now_ns() - begin) / CLI_NS_PER_MS;
        if ((w->values->count != 0 && w->events >= w->values->count) ||
            (w->values->for_ms != 0 && passed >= w->values->for_ms) ||
            ferror(stdout) != 0)
            return CLI_OK;
        cli_pass_ms((uint64_t)(every - passed % every));
    }
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.every_ms = 250};
    struct watch w = {.c = c, .values = &values, .is_first = true};
    lk_client *client;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (values.every_ms < LEAST_MS)
        cli_usage(c, "--every has to be 50 ms at least");
    w.name = args.operands[0];
    code = see_open(c, &client);
    if (code != 0)
        return code;
    code = watch(&w, client);
    lk_info_free(w.last);
    lk_client_free(client);
    return code;
}

const cli_command cli_command_watch = {
    .name = "watch",
    .group = CLI_SEE,
    .summary = "print a line each time a name changes hands",
    .examples = "  latchkey watch deploy\n"
                "  latchkey watch --for 1m deploy --json",
    .usage = "[OPTION]... NAME",
    .about =
        "A line for each event: holds (at the start), granted, revoked (it is\n"
        "told to stop), ended, waits, left (it gave up), gone (it gave up, or\n"
        "was granted and has finished), and away and back of the server. It\n"
        "looks four times a second; what comes and goes between two looks is\n"
        "not seen, nor are more than the first 64 waiters. With --json each\n"
        "line is a document.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
