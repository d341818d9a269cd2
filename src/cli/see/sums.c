/* SPDX-License-Identifier: MIT */

/* Sums over names, and the same as text for Prometheus. */

#include "cli/see/sums.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cli/utf8.h"
#include "cli/view.h"

static void sums_add(see_sums *to, const lk_entry *entry)
{
    uint64_t held_ms = see_held_ms(entry);

    to->names++;
    to->held += entry->holder_count > 0;
    to->holders += entry->holder_count;
    to->waiters += entry->waiter_count;
    to->foreign += !entry->ours;
    if (held_ms > to->longest_held_ms)
        to->longest_held_ms = held_ms;
}

see_totals see_totals_of(const see_rows *rows, const lk_health *health)
{
    see_totals stats = {.health = health,
                        .truncated = rows->listing->truncated,
                        .missing = rows->listing->missing};

    for (size_t i = 0; i < rows->count; i++) {
        const lk_entry *entry = rows->rows[i].entry;

        sums_add(&stats.kinds[entry->kind], entry);
        sums_add(&stats.all, entry);
    }
    return stats;
}

/* A number, for JSON, and for Prometheus in seconds where it is a time. */
typedef struct metric {
    cli_field field;
    const char *name; /* with its labels, but for {kind}; NULL ends a table */
    const char *help; /* NULL: that of the one before */
} metric;

#define SUM(member, unit)  #member, unit, offsetof(see_sums, member), 1
#define HEALTH(member, in) #member, CLI_UNIT_US, offsetof(lk_health, member), in

static const metric sums[] = {
    {{SUM(names, CLI_UNIT_COUNT)}, "names", "Names in use."},
    {{SUM(held, CLI_UNIT_COUNT)}, "held", "Names that somebody holds."},
    {{SUM(holders, CLI_UNIT_COUNT)},
     "holders",
     "Holders, or permits that are taken."},
    {{SUM(waiters, CLI_UNIT_COUNT)}, "waiters", "Waiters."},
    {{SUM(foreign, CLI_UNIT_COUNT)},
     "foreign",
     "Names that only Redisson has used."},
    {{SUM(longest_held_ms, CLI_UNIT_MS)},
     "longest_held_seconds",
     "The longest of the present holds."},
    {.name = NULL},
};
static const metric health[] = {
    {{HEALTH(rtt_min_us, 1)},
     "rtt_seconds{quantile=\"0\"}",
     "Round trip to the server."},
    {{HEALTH(rtt_median_us, 1)}, "rtt_seconds{quantile=\"0.5\"}", NULL},
    {{HEALTH(rtt_max_us, 1)}, "rtt_seconds{quantile=\"1\"}", NULL},
    {{HEALTH(clock_ahead_us, 0)},
     "clock_ahead_seconds",
     "The server's clock less this host's."},
    {.name = NULL},
};

static void json_metrics(cli_json *json, const metric *m, const void *of)
{
    for (; m->name != NULL; m++) {
        if (m->field.in != 0)
            cli_json_field(json, &m->field, of);
    }
}

void see_json_sums(cli_json *json, const char *key, const see_sums *s)
{
    cli_json_open(json, key, '{');
    json_metrics(json, sums, s);
    cli_json_close(json, '}');
}

void see_json_totals(const see_totals *totals)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "kinds", '{');
    for (int i = LK_KIND_LOCK; i < SEE_KINDS; i++)
        see_json_sums(&json, lk_kind_text((lk_kind)i), &totals->kinds[i]);
    cli_json_close(&json, '}');
    see_json_sums(&json, "all", &totals->all);
    cli_json_words(&json, "server_version", totals->health->version);
    json_metrics(&json, health, totals->health);
    cli_json_bool(&json, "truncated", totals->truncated);
    cli_json_words(&json, "missing", totals->missing);
    cli_json_close(&json, '}');
}

/* A label's value: backslash, quote and newline are escaped. What is shown by its
   code begins with one backslash, a backslash of the name is two: no two names
   look the same, for a series that comes twice spoils all of them. */
static void put_label(FILE *to, const char *text)
{
    char shown[CLI_UTF8_SHOWN];

    while (*text != '\0') {
        if (*text == '\\')
            (void)fputs("\\\\", to);
        (void)cli_utf8_show(&text, shown);
        for (const char *at = shown; *at != '\0'; at++) {
            if (*at == '\\' || *at == '"')
                (void)fputc('\\', to);
            (void)fputc(*at, to);
        }
    }
}

static void put_head(FILE *to, const char *name, const char *help)
{
    const int size = (int)strcspn(name, "{");

    (void)fprintf(to, "# HELP latchkey_%.*s %s\n# TYPE latchkey_%.*s gauge\n",
                  size, name, help, size, name);
}

static void put_sum(FILE *to, const see_totals *stats, const metric *sum)
{
    put_head(to, sum->name, sum->help);
    for (int i = LK_KIND_LOCK; i < SEE_KINDS; i++) {
        (void)fprintf(to, "latchkey_%s{kind=\"%s\"} ", sum->name,
                      lk_kind_text((lk_kind)i));
        cli_put_sample(to, &sum->field, &stats->kinds[i]);
    }
}

static void put_server(FILE *to, const lk_health *found)
{
    for (const metric *m = health; m->name != NULL; m++) {
        if (m->help != NULL)
            put_head(to, m->name, m->help);
        (void)fprintf(to, "latchkey_%s ", m->name);
        cli_put_sample(to, &m->field, found);
    }
    put_head(to, "check",
             "What doctor finds: 0 ok, 1 note, 2 warn, 3 fail, 4 unknown; the "
             "worst of each id.");
    for (size_t i = 0; i < found->count; i++) {
        int worst = (int)found->checks[i]->level;
        bool is_first = true;

        for (size_t j = 0; j < found->count; j++) {
            if (strcmp(found->checks[j]->id, found->checks[i]->id) != 0)
                continue;
            is_first &= j >= i;
            if ((int)found->checks[j]->level > worst)
                worst = (int)found->checks[j]->level;
        }
        if (is_first)
            (void)fprintf(to, "latchkey_check{id=\"%s\"} %d\n",
                          found->checks[i]->id, worst);
    }
}

static void put_names(FILE *to, const see_rows *rows, size_t count)
{
    put_head(to, "name_waiters", "Waiters of a name.");
    for (size_t i = 0; i < count; i++) {
        (void)fputs("latchkey_name_waiters{name=\"", to);
        put_label(to, rows->rows[i].entry->name);
        (void)fprintf(to, "\"} %" PRIu64 "\n",
                      rows->rows[i].entry->waiter_count);
    }
    put_head(to, "name_held_seconds",
             "For how long a name has been held, where that is known.");
    for (size_t i = 0; i < count; i++) {
        if (!see_knows_held(rows->rows[i].entry))
            continue;
        (void)fputs("latchkey_name_held_seconds{name=\"", to);
        put_label(to, rows->rows[i].entry->name);
        (void)fprintf(to, "\"} %.3f\n",
                      (double)see_held_ms(rows->rows[i].entry) / 1000);
    }
}

void see_put_metrics(FILE *to, const see_totals *stats, const see_rows *rows,
                     size_t most)
{
    put_head(to, "up", "The server could be looked at.");
    (void)fprintf(to, "latchkey_up %d\n", stats != NULL);
    if (stats == NULL)
        return;
    put_head(to, "complete",
             "All names were counted: no master of a cluster was away.");
    (void)fprintf(to, "latchkey_complete %d\n",
                  !stats->truncated && stats->missing[0] == '\0');
    for (const metric *sum = sums; sum->name != NULL; sum++)
        put_sum(to, stats, sum);
    if (stats->health != NULL)
        put_server(to, stats->health);
    if (rows != NULL)
        put_names(to, rows, rows->count < most ? rows->count : most);
}
