/* SPDX-License-Identifier: MIT */
#include "check/judge.h"

#include <inttypes.h>

#include "check/log.h"

enum { WINDOW_MS = 20, WINDOW_LINES = 80, EXPLAINED = 5, MS = 1000000 };

typedef struct judging {
    checker *checker;
    judge_result *result;
    uint64_t end;
} judging;

static void feed(const history_event *event, void *data)
{
    judging *j = data;

    j->result->events++;
    if (event->call < HISTORY_CALLS && event->phase < HISTORY_PHASES)
        j->result->by_call[event->call][event->phase]++;
    j->end = event->at;
    (void)checker_feed(j->checker, event);
}

/* ---- what happened around it ---- */

typedef struct window {
    const checker_violation *violation;
    FILE *file;
    unsigned lines;
} window;

static bool acts(const checker_violation *v, uint32_t process)
{
    for (size_t i = 0; i < v->event_count; i++)
        if (v->events[i].process == process)
            return true;
    return process == 0;
}

/* The name's events, and what was done to those who are concerned. */
static bool belongs(const checker_violation *v, const history_event *event)
{
    const uint64_t from = v->events[0].at;
    const uint64_t to = v->events[v->event_count - 1].at;

    if (event->at + (uint64_t)WINDOW_MS * MS < from ||
        event->at > to + (uint64_t)WINDOW_MS * MS)
        return false;
    if (event->call == HISTORY_FAULT || event->call == HISTORY_DIED)
        return acts(v, event->process);
    return event->key == v->events[0].key;
}

static void show(const history_event *event, void *data)
{
    window *w = data;

    if (!belongs(w->violation, event) || w->lines++ >= WINDOW_LINES)
        return;
    (void)fputs("    ", w->file);
    history_print(w->file, event);
}

static void explain(const char *const *paths, size_t count,
                    const checker_violation *v, FILE *file)
{
    window w = {v, file, 0};

    if (v->event_count == 0)
        return;
    (void)fprintf(file, "  around it:\n");
    (void)history_read(paths, count, show, &w);
    if (w.lines > WINDOW_LINES)
        (void)fprintf(file, "    and %u more\n", w.lines - WINDOW_LINES);
}

static void print(const checker_violation *v, FILE *file)
{
    (void)fprintf(file, "%s: %s\n", v->name, v->words);
    for (size_t i = 0; i < v->event_count; i++) {
        (void)fputs("  > ", file);
        history_print(file, &v->events[i]);
    }
}

static void
print_all(const char *const *paths, size_t count, const checker *c, FILE *file)
{
    size_t listed;
    uint64_t total;
    const checker_violation *v = checker_violations(c, &listed, &total);

    for (size_t i = 0; i < listed; i++) {
        print(&v[i], file);
        if (i < EXPLAINED)
            explain(paths, count, &v[i], file);
    }
    if (total > listed)
        (void)fprintf(file, "and %" PRIu64 " more\n", total - listed);
}

/* ---- the whole ---- */

bool judge_files(const char *const *paths, size_t count,
                 const checker_options *options, const char *const *left,
                 FILE *file, judge_result *ret_result)
{
    judging j = {checker_new(options), ret_result, 0};
    size_t listed;
    bool whole;

    *ret_result = (judge_result){0};
    if (j.checker == NULL)
        return false;
    whole = history_read(paths, count, feed, &j);
    for (; left != NULL && *left != NULL; left++)
        checker_left(j.checker, *left);
    checker_end(j.checker, j.end);
    (void)checker_violations(j.checker, &listed, &ret_result->violations);
    ret_result->together_ns = checker_together_ns(j.checker);
    print_all(paths, count, j.checker, file);
    checker_free(j.checker);
    return whole;
}
