/* SPDX-License-Identifier: MIT */
#include "fault/failovers.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/judge.h"
#include "fault/crew.h"
#include "fault/seeker.h"
#include "support/wait.h"

enum {
    MS = 1000000,
    SOME = 20,
    PATH = 512,
    URL = 300,
    FILES = CREW + 1,
    LEFT = 64,
    STOP_MS = 5000,
    GRANT_MS = 60000,  /* scaled, until somebody has something again */
    SETTLE_MS = 12000, /* a lease that was not given back is over by then */
    ASK_MS = 30000,    /* scaled; then a failover that was asked for is off */
    ASKS = 3,
    TIMES_MOST = 100
};

typedef struct failovers {
    bool is_fast, is_min;
    bool restarts; /* of the master, and nothing else */
    unsigned times;
    crew crew;
    seeker seeker;
    /* Of each kill: until all sentinels name the next master; from then until the
       seeker has something; and both. */
    uint64_t to_name_ms[TIMES_MOST], from_name_ms[TIMES_MOST];
    uint64_t to_grant_ms[TIMES_MOST];
    size_t kills;
    unsigned replaced; /* masters that were stopped, and another was named */
} failovers;

/* ---- failovers ------------------------------------------------------------------ */

/* What was acknowledged and is gone: places in queues, counts. All else is still
   claimed. */
static void tell_fault(failovers *f, const char *name, history_phase phase)
{
    history_event event = {.at = history_now(),
                           .phase = (uint8_t)phase,
                           .call = HISTORY_FAULT,
                           .count = CHECKER_ORDER | CHECKER_COUNTS};

    if (phase == HISTORY_OK)
        event.deadline = event.at + (uint64_t)SETTLE_MS * MS;
    (void)snprintf(event.name, sizeof(event.name), "%s", name);
    if (!history_log_write(f->crew.log, &event))
        abort();
}

static uint64_t grants(const failovers *f)
{
    return atomic_load(&f->crew.shared->asked);
}

typedef struct wanted {
    const failovers *f;
    uint64_t grants;
} wanted;

static bool has_more(void *data)
{
    const wanted *w = data;

    return grants(w->f) > w->grants;
}

/* There are so many more grants from now on. */
static bool wait_grants(const failovers *f, uint64_t more)
{
    wanted w = {f, grants(f) + more - 1};

    if (wait_until(has_more, &w, GRANT_MS))
        return true;
    printf("nobody gets anything\n");
    return false;
}

static bool has_found(void *data)
{
    const wanted *w = data;

    return seeker_found(&w->f->seeker) > w->grants;
}

/* The seeker has had more than so many. */
static bool wait_found(const failovers *f, uint64_t before)
{
    wanted w = {f, before};

    if (wait_until(has_found, &w, GRANT_MS))
        return true;
    printf("what nobody has cannot be had\n");
    return false;
}

static bool wait_whole(const failovers *f)
{
    if (sentinels_wait_whole(f->crew.group))
        return true;
    printf("the group does not come together again\n");
    return false;
}

static bool has_passed(void *data)
{
    return wait_now_ms() >= *(const uint64_t *)data;
}

/* It comes back writable and empty, and is so for ten seconds. */
static bool by_kill(failovers *f)
{
    server *old = sentinels_named_by(f->crew.group, 0);
    uint64_t began, named, granted, before;

    tell_fault(f, "the master is killed", HISTORY_INVOKE);
    crew_stand_still(&f->crew);
    crew_deafen(&f->crew);
    began = wait_now_ms();
    server_kill(old);
    before = seeker_found(&f->seeker);
    (void)sentinels_wait_other(f->crew.group, old);
    named = wait_now_ms();
    if (!wait_found(f, before))
        return false;
    granted = wait_now_ms();
    f->to_name_ms[f->kills] = named - began;
    f->from_name_ms[f->kills] = granted - named;
    f->to_grant_ms[f->kills++] = granted - began;
    if (!wait_grants(f, 1))
        return false;
    crew_go_on(&f->crew);
    if (!server_restart(old) || !wait_whole(f))
        return false;
    crew_heal(&f->crew);
    tell_fault(f, "the master is killed", HISTORY_OK);
    return wait_grants(f, 1);
}

/* A sentinel that the machine keeps from running for seconds gives a failover up. */
static bool wait_asked(failovers *f, const server *old)
{
    for (int i = 0; i < ASKS; i++) {
        if (sentinels_name_other(f->crew.group, old, ASK_MS))
            return true;
        if (i + 1 < ASKS)
            (void)sentinels_failover(f->crew.group);
    }
    printf("the sentinels keep the master\n");
    return false;
}

/* The old master takes writes for eleven seconds more. */
static bool by_request(failovers *f)
{
    server *old = sentinels_named_by(f->crew.group, 0);

    tell_fault(f, "a failover is asked for", HISTORY_INVOKE);
    (void)sentinels_failover(f->crew.group);
    crew_deafen(&f->crew);
    if (!wait_grants(f, SOME)) /* mostly by the old master */
        return false;
    crew_stand_still(&f->crew);
    if (!wait_asked(f, old) || !wait_grants(f, SOME))
        return false;
    crew_go_on(&f->crew);
    if (!wait_whole(f))
        return false;
    crew_heal(&f->crew);
    tell_fault(f, "a failover is asked for", HISTORY_OK);
    return wait_grants(f, 1);
}

/* It goes on with its data, and takes writes for ten seconds. Deaf ones hear
   again meanwhile. Sentinels that the machine has kept from running do not find
   it down, so it may remain the master. */
static bool by_stop(failovers *f)
{
    server *old = sentinels_named_by(f->crew.group, 0);
    uint64_t until = wait_now_ms() + STOP_MS;

    tell_fault(f, "the master is stopped", HISTORY_INVOKE);
    crew_deafen(&f->crew);
    server_freeze(old);
    (void)wait_until(has_passed, &until, STOP_MS);
    f->replaced += sentinels_named_by(f->crew.group, 0) != old;
    server_thaw(old);
    if (!wait_grants(f, SOME))
        return false;
    crew_heal(&f->crew);
    if (!wait_whole(f))
        return false;
    tell_fault(f, "the master is stopped", HISTORY_OK);
    return wait_grants(f, 1);
}

/* It is back at once, writable and empty: mostly before a sentinel has missed it. */
static bool by_restart(failovers *f)
{
    server *master = sentinels_named_by(f->crew.group, 0);

    tell_fault(f, "the master restarts", HISTORY_INVOKE);
    if (!server_restart(master) || !wait_grants(f, SOME) || !wait_whole(f))
        return false;
    f->replaced += sentinels_named_by(f->crew.group, 0) != master;
    tell_fault(f, "the master restarts", HISTORY_OK);
    return wait_grants(f, 1);
}

static bool play_one(failovers *f)
{
    if (f->restarts)
        return by_restart(f);
    return by_request(f) && by_kill(f) && by_stop(f);
}

static bool play(failovers *f)
{
    for (unsigned i = 0; i < f->times; i++) {
        if (!wait_grants(f, 1) || !play_one(f)) {
            printf("failover %u: it does not go on\n", i);
            return false;
        }
    }
    return true;
}

/* ---- what is left, and the verdict ------------------------------------------------ */

static bool may_stay(const char *key)
{
    return strstr(key, "sem0") != NULL || strstr(key, "latch0") != NULL ||
           strstr(key, ":cell") != NULL;
}

/* Keys that nothing ends. */
static const char *const *left_of(failovers *f)
{
    static const char *left[LEFT];
    server *master = sentinels_named_by(f->crew.group, 0);
    redisReply *keys;
    size_t n = 0;

    server_reconnect(master);
    keys = server_command(master, "KEYS *");
    for (size_t i = 0; i < keys->elements && n < LEFT - 1; i++) {
        const char *key = keys->element[i]->str;

        if (!may_stay(key) && server_integer(master, "PTTL %s", key) == -1)
            left[n++] = strdup(key);
    }
    freeReplyObject(keys);
    left[n] = NULL;
    return left;
}

/* False: it could not be done. */
static bool judge(const failovers *f, unsigned rules, const char *const *left,
                  FILE *file, judge_result *ret_result)
{
    const uint64_t late =
        200 * (uint64_t)MS + 4 * atomic_load(&f->crew.shared->worst_stall_ns);
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
                       f->crew.directory, PLAY_HARNESS + i);
        files[i] = paths[i];
    }
    return judge_files(files, FILES, &options, left, file, ret_result);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void tell_times(const char *what, uint64_t *ms, size_t count)
{
    qsort(ms, count, sizeof(*ms), compare);
    if (count > 0)
        printf("%s: %" PRIu64 " to %" PRIu64 " ms, median %" PRIu64 "\n", what,
               ms[0], ms[count - 1], ms[count / 2]);
}

typedef struct verdicts {
    judge_result exclusion, fences, rest;
} verdicts;

static void report(failovers *f, const verdicts *found)
{
    const uint64_t *writes = found->rest.by_call[HISTORY_WRITE];
    uint64_t all = 0;

    for (unsigned i = 0; i < PLAY_NAMES; i++)
        all += atomic_load(&f->crew.shared->grants[i]);
    if (f->restarts)
        printf(
            "failover=safe: %u restarts without data, %u failovers by them\n",
            f->times, f->replaced);
    else
        printf("failover=%s%s: %u failovers asked for, %zu by a kill, %u by a "
               "stop of %d s\n",
               f->is_fast ? "fast" : "safe",
               f->is_min ? ", min-replicas-to-write 1" : "", f->times, f->kills,
               f->replaced, STOP_MS / 1000);
    tell_times("from a kill until the next master is named", f->to_name_ms,
               f->kills);
    tell_times("from then to a grant of what nobody has", f->from_name_ms,
               f->kills);
    tell_times("from a kill to such a grant", f->to_grant_ms, f->kills);
    printf("%" PRIu64 " grants, %" PRIu64 " losses told, %" PRIu64
           " outcomes unknown, the machine was up to %" PRIu64 " ms late\n",
           all, atomic_load(&f->crew.shared->losses),
           atomic_load(&f->crew.shared->unknowns),
           atomic_load(&f->crew.shared->worst_stall_ns) / MS);
    printf("writes under a fence: %" PRIu64 " accepted, %" PRIu64
           " refused, %" PRIu64 " unknown\n",
           writes[HISTORY_OK], writes[HISTORY_FAIL], writes[HISTORY_UNKNOWN]);
    printf("%" PRIu64 " overlaps, the longest of %" PRIu64 " ms; %" PRIu64
           " fences behind others; %" PRIu64 " other violations\n",
           found->exclusion.violations, found->exclusion.together_ns / MS,
           found->fences.violations, found->rest.violations);
}

/* failover=fast allows two holders, and so a fence that is behind. */
static int verdict(failovers *f, bool played)
{
    const unsigned apart = CHECKER_EXCLUSION | CHECKER_FENCES;
    const char *const *left = played ? left_of(f) : NULL;
    FILE *null = fopen("/dev/null", "we");
    FILE *file = f->is_fast ? null : stdout;
    verdicts found;
    bool judged;

    if (null == NULL)
        return 2;
    judged = judge(f, CHECKER_EXCLUSION, NULL, file, &found.exclusion) &&
             judge(f, CHECKER_FENCES, NULL, file, &found.fences) &&
             judge(f, CHECKER_ALL & ~apart, left, stdout, &found.rest);
    (void)fclose(null);
    if (!judged)
        return 2;
    report(f, &found);
    if (!f->is_fast)
        found.rest.violations +=
            found.exclusion.violations + found.fences.violations;
    return !played || found.rest.violations > 0 || f->crew.broken > 0 ? 1 : 0;
}

/* ---- the whole ------------------------------------------------------------------- */

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

static bool open_all(failovers *f)
{
    static const char *const min[] = {"--min-replicas-to-write", "1", NULL};
    const sentinels_options options =
        {.server_args = f->is_min ? min : NULL,
         .config = "sentinel failover-timeout m 5000\n"};

    const char *more = f->is_fast ? "?failover=fast" : "";
    char url[URL];

    if (mkdir(f->crew.directory, 0700) != 0 && errno != EEXIST)
        return false;
    remove_histories(f->crew.directory);
    if (!crew_open(&f->crew, &options) || !crew_hire(&f->crew, more))
        return false;
    (void)snprintf(url, sizeof(url), "%s%s", f->crew.group->url, more);
    return seeker_start(&f->seeker, url);
}

static bool read_way(failovers *f, const char *way)
{
    f->restarts = strcmp(way, "restarts") == 0;
    f->is_fast = strncmp(way, "fast", 4) == 0;
    f->is_min = strstr(way, "-min") != NULL;
    return f->restarts || strcmp(way, "safe") == 0 ||
           strcmp(way, "fast") == 0 || strcmp(way, "safe-min") == 0 ||
           strcmp(way, "fast-min") == 0;
}

int failovers_main(int count, char **arguments)
{
    static failovers f = {.crew = {.directory = "build/failovers"}};
    bool played;
    int status;

    f.times = count > 0 ? (unsigned)strtoul(arguments[0], NULL, 10) : 0;
    if (count > 3 || (count > 1 && !read_way(&f, arguments[1])) ||
        f.times > TIMES_MOST) {
        (void)fprintf(stderr, "usage: fault --failovers N "
                              "[safe|fast|safe-min|fast-min|restarts] "
                              "[DIRECTORY]\n");
        return 2;
    }
    if (count > 2)
        f.crew.directory = arguments[2];
    if (f.times == 0)
        f.times = getenv("LK_LONG") != NULL ? 20 : 2;
    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    if (!open_all(&f)) {
        perror("failovers");
        return 2;
    }
    played = play(&f);
    seeker_stop(&f.seeker);
    crew_finish(&f.crew);
    status = verdict(&f, played);
    crew_close(&f.crew);
    if (status == 0)
        remove_histories(f.crew.directory);
    return status;
}
