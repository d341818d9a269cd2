/* SPDX-License-Identifier: MIT */

/* The masters of a cluster: what is said of each, together. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/judge.h"

enum {
    NAMED = 3, /* masters that a line names */
    OWN = 8,   /* lines about all of them */
    NEAR_US = 50000,
    FAR_US = 1000000
};

/* Lines of several masters that say the same. */
struct line {
    const lk_check *check; /* the first's */
    bool differs;          /* they are well, each in other words */
    size_t count, last;
    size_t of[NAMED];
};

struct lines {
    struct line *all;
    size_t count;
};

static bool is_same(const lk_check *a, const lk_check *b)
{
    return strcmp(a->id, b->id) == 0 && a->level == b->level &&
           (a->level == LK_CHECK_OK || (strcmp(a->text, b->text) == 0 &&
                                        strcmp(a->advice, b->advice) == 0));
}

/* Behind the last one of its id. */
static struct line *line_add(struct lines *lines, const lk_check *check)
{
    size_t at = lines->count;

    for (size_t i = 0; i < lines->count; i++) {
        if (strcmp(lines->all[i].check->id, check->id) == 0)
            at = i + 1;
    }
    memmove(lines->all + at + 1, lines->all + at,
            (lines->count - at) * sizeof(*lines->all));
    lines->count++;
    lines->all[at] = (struct line){.check = check};
    return &lines->all[at];
}

static void
lines_take(struct lines *lines, const lk_health *health, size_t master)
{
    for (size_t i = 0; i < health->count; i++) {
        const lk_check *check = health->checks[i];
        struct line *line = NULL;

        for (size_t k = 0; k < lines->count && line == NULL; k++) {
            if (is_same(lines->all[k].check, check))
                line = &lines->all[k];
        }
        if (line == NULL)
            line = line_add(lines, check);
        /* One master may say the same twice. */
        if (line->count > 0 && line->last == master)
            continue;
        line->last = master;
        line->differs =
            line->differs || strcmp(line->check->text, check->text) != 0;
        if (line->count < NAMED)
            line->of[line->count] = master;
        line->count++;
    }
}

/* "127.0.0.1:7000, 127.0.0.1:7001 and 3 more" */
static void masters_words(char *text, size_t size, const struct line *line,
                          lk__facts *const *all)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < line->count && i < NAMED && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%.60s",
                                 i > 0 ? ", " : "", all[line->of[i]]->address);
    if (line->count > NAMED && used < size)
        snprintf(text + used, size - used, " and %zu more",
                 line->count - NAMED);
}

static void line_put(lk__report *report, const struct line *line,
                     lk__facts *const *all, size_t count)
{
    const lk_check *check = line->check;
    char masters[240];

    masters_words(masters, sizeof(masters), line, all);
    if (line->differs)
        lk__report_add(report, check->id, check->level, check->advice,
                       "%zu of %zu masters are well; %s: %s", line->count,
                       count, all[line->of[0]]->address, check->text);
    else if (line->count == count)
        lk__report_add(report, check->id, check->level, check->advice,
                       "each master: %s", check->text);
    else
        lk__report_add(report, check->id, check->level, check->advice, "%s: %s",
                       masters, check->text);
}

/* ---- what only all of them tell ------------------------------------------------------ */

static void judge_missing(lk__report *report, size_t count, const char *missing)
{
    if (missing[0] == '\0')
        lk__report_add(report, "masters", LK_CHECK_OK, "",
                       "%zu masters, and all answer", count);
    else
        lk__report_add(report, "masters", LK_CHECK_FAIL,
                       "start what is down, and see whether this host reaches "
                       "the addresses that the nodes announce "
                       "(cluster-announce-ip)",
                       "%zu masters answer; not looked at: %s", count, missing);
}

static void judge_versions(lk__report *report, lk_health *const *ones,
                           lk__facts *const *all, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(ones[0]->version, ones[i]->version) == 0)
            continue;
        lk__report_add(report, "versions", LK_CHECK_NOTE,
                       "bring all nodes to one version",
                       "%s has version %s, and %s has %s", all[0]->address,
                       ones[0]->version, all[i]->address, ones[i]->version);
        return;
    }
}

/* A new master goes on with what the one before wrote by its own clock. */
static void
judge_clocks(lk__report *report, lk__facts *const *all, size_t count)
{
    const lk__facts *first = NULL, *last = NULL;
    int64_t apart;

    for (size_t i = 0; i < count; i++) {
        if (!all[i]->has_clock)
            continue;
        if (first == NULL || all[i]->ahead_us < first->ahead_us)
            first = all[i];
        if (last == NULL || all[i]->ahead_us > last->ahead_us)
            last = all[i];
    }
    if (first == NULL || first == last)
        return;
    apart = last->ahead_us - first->ahead_us;
    lk__report_add(report, "clocks",
                   apart > FAR_US    ? LK_CHECK_WARN
                   : apart > NEAR_US ? LK_CHECK_NOTE
                                     : LK_CHECK_OK,
                   apart > NEAR_US ? "set the clocks of all nodes: where "
                                     "another takes a master's place leases "
                                     "end by so much early or late"
                                   : "",
                   "the clock of %s is %.3f s ahead of that of %s",
                   last->address, (double)apart / 1e6, first->address);
}

/* Of the round trips the slowest master's, of the clocks the farthest. */
static void sums_take(lk__report *report, lk_health *const *ones, size_t count)
{
    lk_health *health = &report->health;

    snprintf(report->version, sizeof(report->version), "%s", ones[0]->version);
    for (size_t i = 0; i < count; i++) {
        int64_t ahead = ones[i]->clock_ahead_us;
        int64_t most = health->clock_ahead_us;

        if (health->samples == 0 ||
            ones[i]->rtt_median_us > health->rtt_median_us) {
            health->samples = ones[i]->samples;
            health->rtt_min_us = ones[i]->rtt_min_us;
            health->rtt_median_us = ones[i]->rtt_median_us;
            health->rtt_max_us = ones[i]->rtt_max_us;
        }
        if ((ahead < 0 ? -ahead : ahead) > (most < 0 ? -most : most))
            health->clock_ahead_us = ahead;
    }
}

static lk__report *merge(lk_health *const *ones, lk__facts *const *all,
                         size_t count, const char *missing)
{
    struct lines lines = {.count = 0};
    lk__report *report = NULL;
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        most += ones[i]->count;
    lines.all = lk__alloc((most + 1) * sizeof(*lines.all));
    if (lines.all != NULL) {
        for (size_t i = 0; i < count; i++)
            lines_take(&lines, ones[i], i);
        report = lk__report_new(lines.count + OWN);
    }
    if (report != NULL) {
        judge_missing(report, count, missing);
        for (size_t i = 0; i < lines.count; i++)
            line_put(report, &lines.all[i], all, count);
        if (count > 0) {
            judge_versions(report, ones, all, count);
            judge_clocks(report, all, count);
            sums_take(report, ones, count);
        }
    }
    lk__free(lines.all);
    return report;
}

lk_health *lk__health_judge_cluster(lk__facts *const *all, size_t count,
                                    const char *missing)
{
    lk_health **ones = lk__alloc((count + 1) * sizeof(lk_health *));
    lk__report *report = NULL;
    bool is_complete = ones != NULL;

    for (size_t i = 0; is_complete && i < count; i++) {
        ones[i] = lk__health_judge(all[i]);
        is_complete = ones[i] != NULL;
    }
    if (is_complete)
        report = merge(ones, all, count, missing);
    for (size_t i = 0; ones != NULL && i < count; i++)
        lk_health_free(ones[i]);
    lk__free(ones);
    return report != NULL ? &report->health : NULL;
}
