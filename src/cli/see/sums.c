/* SPDX-License-Identifier: MIT */

/* Sums over names, and the same as text for Prometheus. */

#include "cli/see/sums.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cli/utf8.h"

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

/* What sums are, for JSON, whose members end so, and for Prometheus. */
static const struct sum {
    const char *key;
    const char *metric, *help;
    size_t at;
    bool is_ms; /* seconds in Prometheus */
} sums[] = {
    {"names", "names", "Names in use.", offsetof(see_sums, names), false},
    {"held", "held", "Names that somebody holds.", offsetof(see_sums, held),
     false},
    {"holders", "holders", "Holders, or permits that are taken.",
     offsetof(see_sums, holders), false},
    {"waiters", "waiters", "Waiters.", offsetof(see_sums, waiters), false},
    {"foreign", "foreign", "Names that only Redisson has used.",
     offsetof(see_sums, foreign), false},
    {"longest_held_ms", "longest_held_seconds",
     "The longest of the present holds.", offsetof(see_sums, longest_held_ms),
     true},
};

enum { SUMS = sizeof(sums) / sizeof(sums[0]) };

static uint64_t value_of(const see_sums *s, const struct sum *sum)
{
    uint64_t value;

    memcpy(&value, (const char *)s + sum->at, sizeof(value));
    return value;
}

void see_json_sums(cli_json *json, const char *key, const see_sums *s)
{
    cli_json_open(json, key, '{');
    for (size_t i = 0; i < SUMS; i++)
        cli_json_count(json, sums[i].key, value_of(s, &sums[i]));
    cli_json_close(json, '}');
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

static void put_head(FILE *to, const char *metric, const char *help)
{
    (void)fprintf(to, "# HELP latchkey_%s %s\n# TYPE latchkey_%s gauge\n",
                  metric, help, metric);
}

static void put_sum(FILE *to, const see_totals *stats, const struct sum *sum)
{
    put_head(to, sum->metric, sum->help);
    for (int i = LK_KIND_LOCK; i < SEE_KINDS; i++) {
        uint64_t value = value_of(&stats->kinds[i], sum);

        (void)fprintf(to, "latchkey_%s{kind=\"%s\"} ", sum->metric,
                      lk_kind_text((lk_kind)i));
        if (sum->is_ms)
            (void)fprintf(to, "%.3f\n", (double)value / 1000);
        else
            (void)fprintf(to, "%" PRIu64 "\n", value);
    }
}

static void put_server(FILE *to, const lk_health *health)
{
    put_head(to, "rtt_seconds", "Round trip to the server.");
    (void)fprintf(to,
                  "latchkey_rtt_seconds{quantile=\"0\"} %.6f\n"
                  "latchkey_rtt_seconds{quantile=\"0.5\"} %.6f\n"
                  "latchkey_rtt_seconds{quantile=\"1\"} %.6f\n",
                  (double)health->rtt_min_us / 1e6,
                  (double)health->rtt_median_us / 1e6,
                  (double)health->rtt_max_us / 1e6);
    put_head(to, "clock_ahead_seconds", "The server's clock less this host's.");
    (void)fprintf(to, "latchkey_clock_ahead_seconds %.6f\n",
                  (double)health->clock_ahead_us / 1e6);
    put_head(to, "check",
             "What doctor finds: 0 ok, 1 note, 2 warn, 3 fail, 4 unknown; the "
             "worst of each id.");
    for (size_t i = 0; i < health->count; i++) {
        int worst = (int)health->checks[i]->level;
        bool is_first = true;

        for (size_t j = 0; j < health->count; j++) {
            if (strcmp(health->checks[j]->id, health->checks[i]->id) != 0)
                continue;
            is_first &= j >= i;
            if ((int)health->checks[j]->level > worst)
                worst = (int)health->checks[j]->level;
        }
        if (is_first)
            (void)fprintf(to, "latchkey_check{id=\"%s\"} %d\n",
                          health->checks[i]->id, worst);
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
    for (size_t i = 0; i < SUMS; i++)
        put_sum(to, stats, &sums[i]);
    if (stats->health != NULL)
        put_server(to, stats->health);
    if (rows != NULL)
        put_names(to, rows, rows->count < most ? rows->count : most);
}
