/* SPDX-License-Identifier: MIT */
#include "fault/course.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/judge.h"
#include "support/wait.h"

enum {
    MS = 1000000,
    PATH = 512,
    FILES = CREW + 1,
    GRANT_MS = 60000, /* scaled, until somebody has something again */
    SETTLE_MS = 12000 /* a lease that was not given back is over by then */
};

/* ---- its course ------------------------------------------------------------------- */

/* What is done to these names is not judged any more. */
static void forget_epoch(const course *c, unsigned name)
{
    const uint64_t epoch = atomic_load(&c->crew.shared->epoch);
    history_event event = play_event(name, HISTORY_INVOKE, HISTORY_FAULT);

    play_epoch_text(name, epoch, event.name);
    event.key = history_key(event.name, 0);
    event.count = CHECKER_EXCLUSION | CHECKER_COUNTS | CHECKER_FENCES;
    if (!history_log_write(c->crew.log, &event))
        abort();
}

static void forget_epochs(const course *c)
{
    for (unsigned name = 0; name < PLAY_NAMES; name++) {
        if (play_has_epochs(name) || play_guards_away(name))
            forget_epoch(c, name);
    }
}

/* The time of the fault itself is an epoch of its own. */
static void turn_epoch(const course *c, history_phase phase)
{
    if (phase == HISTORY_INVOKE)
        forget_epochs(c);
    (void)atomic_fetch_add(&c->crew.shared->epoch, 1);
    if (phase == HISTORY_INVOKE)
        forget_epochs(c);
}

void course_fault(course *c, const char *name, history_phase phase, bool loses)
{
    history_event event = {.at = history_now(),
                           .phase = (uint8_t)phase,
                           .call = HISTORY_FAULT,
                           .count = loses ? CHECKER_ORDER | CHECKER_COUNTS : 0};

    if (phase == HISTORY_OK)
        event.deadline = event.at + (uint64_t)SETTLE_MS * MS;
    (void)snprintf(event.name, sizeof(event.name), "%s", name);
    if (!history_log_write(c->crew.log, &event))
        abort();
    if (loses)
        turn_epoch(c, phase);
}

static uint64_t grants(const course *c)
{
    return atomic_load(&c->crew.shared->asked);
}

typedef struct wanted {
    const course *c;
    uint64_t grants;
} wanted;

static bool has_more(void *data)
{
    const wanted *w = data;

    return grants(w->c) > w->grants;
}

bool course_wait_grants(const course *c, uint64_t more)
{
    wanted w = {c, grants(c) + more - 1};

    if (wait_until(has_more, &w, GRANT_MS))
        return true;
    printf("nobody gets anything\n");
    return false;
}

static bool has_found(void *data)
{
    const wanted *w = data;

    return seeker_found(&w->c->seeker) > w->grants;
}

bool course_wait_found(const course *c, uint64_t before)
{
    wanted w = {c, before};

    if (wait_until(has_found, &w, GRANT_MS))
        return true;
    printf("what nobody has cannot be had\n");
    return false;
}

/* ---- what is left, and the verdict ------------------------------------------------ */

static bool may_stay(const char *key)
{
    return strstr(key, "sem0") != NULL || strstr(key, "latch0") != NULL ||
           strstr(key, ":cell") != NULL || strstr(key, "plain0") != NULL;
}

void course_look(course *c, server *at)
{
    redisReply *keys;

    server_reconnect(at);
    keys = server_command(at, "KEYS *");
    for (size_t i = 0; i < keys->elements && c->left_count < COURSE_LEFT - 1;
         i++) {
        const char *key = keys->element[i]->str;

        if (!may_stay(key) && server_integer(at, "PTTL %s", key) == -1)
            c->left[c->left_count++] = strdup(key);
    }
    freeReplyObject(keys);
}

/* False: it could not be done. */
static bool
judge(const course *c, unsigned rules, FILE *file, judge_result *ret_result)
{
    const uint64_t late =
        200 * (uint64_t)MS + 4 * atomic_load(&c->crew.shared->worst_stall_ns);
    const checker_options options = {.rules = rules,
                                     .late_ns = late,
                                     .told_ns = late,
                                     .granted_ns = 8000 * (uint64_t)MS + late,
                                     .answer_ns = late,
                                     .permits = PLAY_PERMITS};
    char paths[FILES][PATH];
    const char *files[FILES];

    for (unsigned i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%u.history",
                       c->crew.directory, PLAY_HARNESS + i);
        files[i] = paths[i];
    }
    return judge_files(files, FILES, &options,
                       (rules & CHECKER_REST) != 0 ? c->left : NULL, file,
                       ret_result);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void course_tell_times(const char *what, uint64_t *ms, size_t count)
{
    qsort(ms, count, sizeof(*ms), compare);
    if (count > 0)
        printf("%s: %" PRIu64 " to %" PRIu64 " ms, median %" PRIu64 "\n", what,
               ms[0], ms[count - 1], ms[count / 2]);
}

typedef struct verdicts {
    judge_result exclusion, fences, rest;
} verdicts;

static void report(const course *c, const verdicts *found)
{
    const uint64_t *writes = found->rest.by_call[HISTORY_WRITE];
    uint64_t all = 0;

    for (unsigned i = 0; i < PLAY_NAMES; i++) {
        uint64_t grants_of = atomic_load(&c->crew.shared->grants[i]);

        all += grants_of;
        if (play_names[i].kind != HISTORY_LATCH)
            printf("%s %" PRIu64 "%s", play_names[i].name, grants_of,
                   i + 1 < PLAY_NAMES ? ", " : "\n");
    }
    printf("%" PRIu64 " grants, %" PRIu64 " losses told, %" PRIu64
           " outcomes unknown, the machine was up to %" PRIu64 " ms late\n",
           all, atomic_load(&c->crew.shared->losses),
           atomic_load(&c->crew.shared->unknowns),
           atomic_load(&c->crew.shared->worst_stall_ns) / MS);
    printf("writes under a fence: %" PRIu64 " accepted, %" PRIu64
           " refused, %" PRIu64 " unknown\n",
           writes[HISTORY_OK], writes[HISTORY_FAIL], writes[HISTORY_UNKNOWN]);
    if (c->crew.ring != NULL)
        printf("of them into cells of other slots: %" PRIu64
               " accepted, %" PRIu64 " refused by the fence\n",
               atomic_load(&c->crew.shared->away_made),
               atomic_load(&c->crew.shared->away_refused));
    printf("%" PRIu64 " overlaps, the longest of %" PRIu64 " ms; %" PRIu64
           " fences behind others; %" PRIu64 " other violations\n",
           found->exclusion.violations, found->exclusion.together_ns / MS,
           found->fences.violations, found->rest.violations);
}

int course_verdict(course *c, bool played, bool allows_two)
{
    const unsigned apart = CHECKER_EXCLUSION | CHECKER_FENCES;
    FILE *null = fopen("/dev/null", "we");
    FILE *file = allows_two ? null : stdout;
    verdicts found;
    bool judged;

    if (null == NULL)
        return 2;
    judged = judge(c, CHECKER_EXCLUSION, file, &found.exclusion) &&
             judge(c, CHECKER_FENCES, file, &found.fences) &&
             judge(c, CHECKER_ALL & ~apart, stdout, &found.rest);
    (void)fclose(null);
    if (!judged)
        return 2;
    report(c, &found);
    if (!allows_two)
        found.rest.violations +=
            found.exclusion.violations + found.fences.violations;
    return !played || found.rest.violations > 0 || c->crew.broken > 0 ? 1 : 0;
}

/* ---- the directory ---------------------------------------------------------------- */

static void remove_histories(const char *directory)
{
    DIR *open = opendir(directory);
    const struct dirent *entry;
    char path[PATH + sizeof(entry->d_name)];

    while (open != NULL && (entry = readdir(open)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.')
            (void)unlink(path);
    }
    if (open != NULL)
        (void)closedir(open);
}

bool course_open(const course *c)
{
    if (mkdir(c->crew.directory, 0700) != 0 && errno != EEXIST)
        return false;
    remove_histories(c->crew.directory);
    return true;
}

void course_close(course *c, bool is_clean)
{
    crew_close(&c->crew);
    if (is_clean)
        remove_histories(c->crew.directory);
}
