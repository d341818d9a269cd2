/* SPDX-License-Identifier: MIT */

/* The metrics of one look after the other, for Prometheus to fetch. */

#include "cli/see/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/http/run.h"
#include "cli/see/spans.h"

/* Names that are asked about one by one in a look; names that get a series. */
enum { LOOK_MS = 5000, HEALTH_EVERY_MS = 15000, ASKED = 256, NAMED = 1000 };

typedef struct exporter {
    const see_export *how;
    lk_client *client;
    lk_health *health; /* NULL: not known */
    uint64_t health_ms;
    see_spans holds, waits;
    see_times hold_times, wait_times;
    uint64_t looks, failures;
} exporter;

/* What one look sees of holds and waits. */
typedef struct sight {
    see_spans holds, waits;
    const char **blind; /* names that were not asked about; room for all */
    size_t blind_count, asked;
    uint64_t now_ms;
} sight;

/* ---- holds and waits ----------------------------------------------------------- */

/* Those of other libraries do not say since when. A member that arrived at a
   latch holds nothing. False: no memory. */
static bool
hold_note(sight *seen, const char *name, lk_kind kind, const lk_party *holder)
{
    return kind == LK_KIND_LATCH || see_is_foreign(kind, holder) ||
           see_spans_add(&seen->holds, name, kind, holder, seen->now_ms);
}

static bool
wait_note(sight *seen, const char *name, lk_kind kind, const lk_party *waiter)
{
    return see_is_foreign_waiter(waiter) ||
           see_spans_add(&seen->waits, name, kind, waiter, seen->now_ms);
}

static bool
info_note(sight *seen, const char *name, lk_kind kind, const lk_info *info)
{
    bool ok = true;

    for (size_t i = 0; i < info->holder_count && ok; i++)
        ok = hold_note(seen, name, kind, info->holders[i]);
    for (size_t i = 0; i < info->listed_count && ok; i++)
        ok = wait_note(seen, name, kind, info->waiters[i]);
    return ok;
}

/* A name that is gone since it was listed is like one that was not listed. */
static bool name_ask(exporter *e, sight *seen, const lk_entry *entry)
{
    lk_kind kind = LK_KIND_NONE;
    lk_info *info = NULL;
    lk_status status;
    bool ok = true;

    if (seen->asked == ASKED) {
        seen->blind[seen->blind_count++] = entry->name;
        return true;
    }
    seen->asked++;
    status = lk_who(e->client, entry->name, &kind, &info);
    if (status == LK_OK)
        ok = info_note(seen, entry->name, kind, info);
    else if (status != LK_ENOTHELD)
        seen->blind[seen->blind_count++] = entry->name;
    lk_info_free(info);
    return ok;
}

/* rows are in the order of their names. False: no memory. */
static bool sight_fill(exporter *e, sight *seen, const see_rows *rows)
{
    bool ok = true;

    for (size_t i = 0; i < rows->count && ok; i++) {
        const lk_entry *entry = rows->rows[i].entry;

        if (see_needs_asking(entry))
            ok = name_ask(e, seen, entry);
        else if (entry->holder != NULL)
            ok = hold_note(seen, entry->name, entry->kind, entry->holder);
    }
    return ok;
}

/* After a gap nobody knows when what is gone has ended. */
static void spans_forget(exporter *e)
{
    see_spans_done(&e->holds);
    see_spans_done(&e->waits);
}

static void spans_note(exporter *e, const see_rows *rows)
{
    sight seen = {.now_ms = cli_now_ms()};

    seen.blind = calloc(rows->count + 1, sizeof(*seen.blind));
    /* Of a list that is cut nobody knows what has gone. */
    if (!see_rows_are_all(rows) || seen.blind == NULL ||
        !sight_fill(e, &seen, rows)) {
        see_spans_done(&seen.holds);
        see_spans_done(&seen.waits);
        spans_forget(e);
    } else {
        see_spans_turn(&e->holds, &seen.holds, seen.now_ms, seen.blind,
                       seen.blind_count, &e->hold_times);
        see_spans_turn(&e->waits, &seen.waits, seen.now_ms, seen.blind,
                       seen.blind_count, &e->wait_times);
    }
    free(seen.blind);
}

/* ---- a look ------------------------------------------------------------------------ */

/* A check of the server takes some dozen round trips: not at each look. */
static void health_renew(exporter *e)
{
    lk_health *found;

    if (e->health != NULL && cli_now_ms() - e->health_ms < HEALTH_EVERY_MS)
        return;
    if (lk_health_check(e->client, LOOK_MS, &found) != LK_OK)
        found = NULL;
    lk_health_free(e->health);
    e->health = found;
    e->health_ms = cli_now_ms();
}

static void put_looks(FILE *to, const exporter *e)
{
    (void)fprintf(to,
                  "# HELP latchkey_looks_total Looks at the server.\n"
                  "# TYPE latchkey_looks_total counter\n"
                  "latchkey_looks_total{result=\"ok\"} %" PRIu64 "\n"
                  "latchkey_looks_total{result=\"failed\"} %" PRIu64 "\n",
                  e->looks - e->failures, e->failures);
    see_put_times(to, &e->hold_times, "hold_seconds",
                  "Holds that were seen to end.");
    see_put_times(to, &e->wait_times, "wait_seconds",
                  "Waits that were seen to end, however.");
}

static void put_present(FILE *to, exporter *e, see_rows *rows)
{
    see_totals stats;

    health_renew(e);
    stats = see_totals_of(rows, e->health);
    see_rows_sort(rows, SEE_BY_WAITERS);
    see_put_metrics(to, &stats, e->how->names ? rows : NULL, NAMED);
}

static void look(FILE *to, void *data)
{
    exporter *e = data;
    see_rows rows;

    e->looks++;
    if (see_rows_list(e->client, LOOK_MS, &e->how->what, &rows) == LK_OK) {
        spans_note(e, &rows);
        put_present(to, e, &rows);
        see_rows_free(&rows);
    } else {
        e->failures++;
        spans_forget(e);
        see_put_metrics(to, NULL, NULL, 0);
    }
    put_looks(to, e);
}

int see_export_run(cli *c, const see_export *how)
{
    static const cli_http_page pages[] = {
        {"/metrics", CLI_HTTP_TEXT, "text/plain; version=0.0.4; charset=utf-8",
         NULL},
        {.path = NULL},
    };
    exporter e = {.how = how};
    cli_http_run run = {.pages = pages,
                        .path = "/metrics",
                        .every_ms = how->every_ms,
                        .look = look,
                        .data = &e};
    int code;

    if (!cli_http_place_read(how->listen, &run.place))
        cli_usage(c, "--listen has to be [ADDR:]PORT, ADDR a numeric address");
    code = cli_client_open(c, NULL, &e.client);
    if (code != 0)
        return code;
    code = cli_http_run_until_signal(c, &run);
    spans_forget(&e);
    lk_health_free(e.health);
    lk_client_free(e.client);
    return code;
}
