/* SPDX-License-Identifier: MIT */

/* `latchkey stat` and `latchkey metrics`: the same sums, for people and for
   Prometheus. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see_rows.h"

enum { KINDS = LK_KIND_LATCH + 1 };

/* What the names of one kind come to. */
typedef struct sums {
    uint64_t names, held, holders, waiters, foreign, longest_held_ms;
} sums;

typedef struct totals {
    sums kinds[KINDS];
    sums all;
    const lk_health *health;
    bool truncated;
} totals;

static void sums_add(sums *to, const lk_entry *entry)
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

static totals totals_of(const see_rows *rows, const lk_health *health)
{
    totals stats = {.health = health, .truncated = rows->listing->truncated};

    for (size_t i = 0; i < rows->count; i++) {
        const lk_entry *entry = rows->rows[i].entry;

        sums_add(&stats.kinds[entry->kind], entry);
        sums_add(&stats.all, entry);
    }
    return stats;
}

/* ---- stat -------------------------------------------------------------------- */

static void put_sums(const char *word, const sums *s)
{
    char time[CLI_TIME_SIZE];

    if (s->names > 0)
        (void)printf("%-16s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64
                     " %8" PRIu64 "  %s\n",
                     word, s->names, s->held, s->holders, s->waiters,
                     s->foreign,
                     s->longest_held_ms > 0
                         ? cli_time_words(time, s->longest_held_ms)
                         : "-");
}

static void put_text(const totals *stats)
{
    const lk_health *health = stats->health;

    (void)printf("%-16s %8s %8s %8s %8s %8s  %s\n", "KIND", "NAMES", "HELD",
                 "HOLDERS", "WAITERS", "FOREIGN", "LONGEST");
    for (int i = LK_KIND_LOCK; i < KINDS; i++)
        put_sums(lk_kind_text((lk_kind)i), &stats->kinds[i]);
    put_sums("all", &stats->all);
    (void)fputs("server ", stdout);
    cli_put_clean(stdout, health->version);
    (void)printf(", a round trip %.3f ms (%.3f to %.3f)\n",
                 (double)health->rtt_median_us / 1000,
                 (double)health->rtt_min_us / 1000,
                 (double)health->rtt_max_us / 1000);
}

static void json_sums(cli_json *json, const char *key, const sums *s)
{
    cli_json_open(json, key, '{');
    cli_json_count(json, "names", s->names);
    cli_json_count(json, "held", s->held);
    cli_json_count(json, "holders", s->holders);
    cli_json_count(json, "waiters", s->waiters);
    cli_json_count(json, "foreign", s->foreign);
    cli_json_count(json, "longest_held_ms", s->longest_held_ms);
    cli_json_close(json, '}');
}

static void put_json(const totals *stats)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "kinds", '{');
    for (int i = LK_KIND_LOCK; i < KINDS; i++)
        json_sums(&json, lk_kind_text((lk_kind)i), &stats->kinds[i]);
    cli_json_close(&json, '}');
    json_sums(&json, "all", &stats->all);
    see_json_text(&json, "server_version", stats->health->version);
    cli_json_count(&json, "rtt_min_us", stats->health->rtt_min_us);
    cli_json_count(&json, "rtt_median_us", stats->health->rtt_median_us);
    cli_json_count(&json, "rtt_max_us", stats->health->rtt_max_us);
    cli_json_bool(&json, "truncated", stats->truncated);
    cli_json_close(&json, '}');
    cli_json_line(&json);
}

/* ---- metrics ------------------------------------------------------------------- */

/* A label's value: backslash, quote and newline are escaped. */
static void put_label(FILE *to, const char *text)
{
    char clean[1024];

    for (const char *at = cli_clean(clean, sizeof(clean), text); *at != '\0';
         at++) {
        if (*at == '\\' || *at == '"')
            (void)fputc('\\', to);
        (void)fputc(*at, to);
    }
}

static void put_head(FILE *to, const char *metric, const char *help)
{
    (void)fprintf(to, "# HELP latchkey_%s %s\n# TYPE latchkey_%s gauge\n",
                  metric, help, metric);
}

static void put_kinds(FILE *to, const totals *stats, const char *metric,
                      const char *help, size_t at)
{
    put_head(to, metric, help);
    for (int i = LK_KIND_LOCK; i < KINDS; i++) {
        uint64_t value;

        memcpy(&value, (const char *)&stats->kinds[i] + at, sizeof(value));
        (void)fprintf(to, "latchkey_%s{kind=\"%s\"} %" PRIu64 "\n", metric,
                      lk_kind_text((lk_kind)i), value);
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

static void put_names(FILE *to, const see_rows *rows)
{
    put_head(to, "name_waiters", "Who waits for a name.");
    for (size_t i = 0; i < rows->count; i++) {
        (void)fputs("latchkey_name_waiters{name=\"", to);
        put_label(to, rows->rows[i].entry->name);
        (void)fprintf(to, "\"} %" PRIu64 "\n",
                      rows->rows[i].entry->waiter_count);
    }
    put_head(to, "name_held_seconds", "For how long a name has been held.");
    for (size_t i = 0; i < rows->count; i++) {
        (void)fputs("latchkey_name_held_seconds{name=\"", to);
        put_label(to, rows->rows[i].entry->name);
        (void)fprintf(to, "\"} %.3f\n",
                      (double)see_held_ms(rows->rows[i].entry) / 1000);
    }
}

/* stats NULL: the server could not be looked at, and nothing is known. */
static void put_metrics(FILE *to, const totals *stats, const see_rows *rows)
{
    put_head(to, "up", "The server could be looked at.");
    (void)fprintf(to, "latchkey_up %d\n", stats != NULL);
    if (stats == NULL)
        return;
    put_kinds(to, stats, "names", "Names in use.", offsetof(sums, names));
    put_kinds(to, stats, "held", "Names that somebody holds.",
              offsetof(sums, held));
    put_kinds(to, stats, "holders", "Holders, or permits that are taken.",
              offsetof(sums, holders));
    put_kinds(to, stats, "waiters", "Who waits.", offsetof(sums, waiters));
    put_kinds(to, stats, "foreign", "Names that only Redisson has used.",
              offsetof(sums, foreign));
    put_head(to, "longest_held_seconds", "The longest of the present holds.");
    for (int i = LK_KIND_LOCK; i < KINDS; i++)
        (void)fprintf(to, "latchkey_longest_held_seconds{kind=\"%s\"} %.3f\n",
                      lk_kind_text((lk_kind)i),
                      (double)stats->kinds[i].longest_held_ms / 1000);
    put_server(to, stats->health);
    if (rows != NULL)
        put_names(to, rows);
}

/* ---- the textfile ---------------------------------------------------------------- */

/* A reader finds the old file or the new one, never a part of one. */
static int file_write(const cli *c, const char *path, const totals *stats,
                      const see_rows *rows)
{
    char *made = NULL;
    FILE *file = NULL;
    int fd = -1;
    bool ok = asprintf(&made, "%s.XXXXXX", path) > 0;

    if (ok)
        fd = mkostemp(made, O_CLOEXEC);
    if (fd >= 0)
        file = fdopen(fd, "w");
    ok = file != NULL && fchmod(fd, 0644) == 0;
    if (ok)
        put_metrics(file, stats, rows);
    if (file != NULL)
        ok = fflush(file) == 0 && ferror(file) == 0 && fsync(fd) == 0 && ok;
    if (file != NULL && fclose(file) != 0)
        ok = false;
    ok = ok && rename(made, path) == 0;
    if (!ok) {
        int error = errno;

        if (fd >= 0)
            (void)unlink(made);
        free(made);
        return cli_fail(c, CLI_LOST, "%s: %s", path, strerror(error));
    }
    free(made);
    return 0;
}

/* ---- the commands ------------------------------------------------------------------ */

struct values {
    bool names;
    const char *file;
};

static const cli_option options[] = {
    {CLI_FLAG, 0, "names", offsetof(struct values, names), NULL,
     "one series for each name as well: as many as there are names", 0},
    {CLI_TEXT, 0, "textfile", offsetof(struct values, file), "PATH",
     "write to this file, in one step, for node_exporter", 0},
    {.kind = CLI_END},
};

static bool is_metrics(const cli *c)
{
    return strcmp(c->command->name, "metrics") == 0;
}

/* stats NULL: see put_metrics(). */
static int write_metrics(const cli *c, const struct values *values,
                         const totals *stats, const see_rows *rows)
{
    const see_rows *named = values->names ? rows : NULL;

    if (values->file != NULL)
        return file_write(c, values->file, stats, named);
    put_metrics(stdout, stats, named);
    return CLI_OK;
}

static int write_all(const cli *c, lk_client *client, const see_rows *rows,
                     const struct values *values)
{
    lk_health *health;
    lk_status status = lk_health_check(client, SEE_WAIT_MS, &health);
    totals stats;
    int code = CLI_OK;

    if (status != LK_OK)
        return cli_fail_call(c, status, "checking the server");
    stats = totals_of(rows, health);
    if (c->json)
        put_json(&stats);
    else if (is_metrics(c))
        code = write_metrics(c, values, &stats, rows);
    else
        put_text(&stats);
    lk_health_free(health);
    return code;
}

static int
look(cli *c, const lk_list_options *what, const struct values *values)
{
    lk_client *client;
    see_rows rows;
    int code = see_open(c, &client);

    if (code != 0)
        return code;
    code = see_rows_get(c, client, what, &rows);
    if (code == 0) {
        see_rows_sort(&rows, SEE_BY_NAME);
        code = write_all(c, client, &rows, values);
        see_rows_free(&rows);
    }
    lk_client_free(client);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.names = false};
    lk_list_options what = {LK_LIST_OPTIONS_INIT};
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (args.operand_count == 1)
        what.pattern = args.operands[0];
    code = look(c, &what, &values);
    /* Else who reads a file would take old numbers for present ones. What goes
       wrong here was told of already, by its first cause. */
    if (code != CLI_OK && is_metrics(c) && !c->json)
        (void)write_metrics(c, &values, NULL, NULL);
    return code;
}

const cli_command cli_command_stat = {
    .name = "stat",
    .summary = "count names, holders and waiters by kind",
    .usage = "[PATTERN]",
    .about =
        "PATTERN is as for `ls`. FOREIGN are names that only Redisson has\n"
        "used; their holders do not tell since when.",
    .operands_max = 1,
    .run = run,
};

const cli_command cli_command_metrics = {
    .name = "metrics",
    .summary = "write the same as metrics for Prometheus",
    .usage = "[OPTION]... [PATTERN]",
    .about =
        "One look, written as Prometheus text, to standard output or to a\n"
        "file for node_exporter's textfile collector. PATTERN is as for\n"
        "`ls`. With --json it writes what `stat --json` writes. Where the\n"
        "server cannot be looked at, latchkey_up 0 is all that is written,\n"
        "and the exit code is 69.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
