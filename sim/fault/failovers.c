/* SPDX-License-Identifier: MIT */
#include "fault/failovers.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/judge.h"
#include "fault/play.h"
#include "support/sentinels.h"
#include "support/wait.h"

enum {
    MS = 1000000,
    PROCESSES = 8,
    SOME = 20,
    PATH = 512,
    FILES = PROCESSES + 1,
    LEFT = 64,
    GRANT_MS = 60000,   /* scaled, until somebody has something again */
    FINISH_MS = 180000, /* the same, until a process ends */
    SETTLE_MS = 12000,  /* a lease that was not given back is over by then */
    KILLS_MOST = 100
};

typedef struct failovers {
    const char *directory;
    bool is_fast, is_min;
    unsigned times;
    sentinels *group;
    server *nodes[PLAY_REDLOCK];
    play_shared *shared;
    history_log *log;
    pid_t pids[PROCESSES];
    uint64_t to_name_ms[KILLS_MOST]; /* from a kill until all sentinels name the
                                         next master */
    uint64_t to_grant_ms[KILLS_MOST]; /* from then to a grant */
    size_t kills;
    unsigned broken; /* processes that did not come to a good end */
} failovers;

/* ---- processes ----------------------------------------------------------------- */

static _Noreturn void
become(const failovers *f, unsigned i, const char *url, pid_t parent)
{
    char process[16], seed[16];
    const char *arguments[] = {"fault",
                               "--worker",
                               process,
                               seed,
                               f->directory,
                               url,
                               server_url(f->nodes[0]),
                               server_url(f->nodes[1]),
                               server_url(f->nodes[2]),
                               NULL};

    (void)snprintf(process, sizeof(process), "%u", PLAY_HARNESS + 1 + i);
    (void)snprintf(seed, sizeof(seed), "%u", i);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        (void)execv("/proc/self/exe", (char *const *)(uintptr_t)arguments);
    _exit(127);
}

static bool hire_all(failovers *f)
{
    char url[300];
    pid_t parent = getpid();

    (void)snprintf(url, sizeof(url), "%s%s", f->group->url,
                   f->is_fast ? "?failover=fast" : "");
    for (unsigned i = 0; i < PROCESSES; i++) {
        f->pids[i] = fork();
        if (f->pids[i] == 0)
            become(f, i, url, parent);
        if (f->pids[i] < 0)
            return false;
    }
    return true;
}

static bool have_all_ended(void *data)
{
    failovers *f = data;
    bool all = true;

    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;

        if (f->pids[i] == 0)
            continue;
        if (waitpid(f->pids[i], &status, WNOHANG) != f->pids[i]) {
            all = false;
            continue;
        }
        f->pids[i] = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("a process has ended with %#x\n", (unsigned)status);
            f->broken++;
        }
    }
    return all;
}

static void finish(failovers *f)
{
    atomic_store(&f->shared->ends, true);
    if (wait_until(have_all_ended, f, FINISH_MS))
        return;
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (f->pids[i] == 0)
            continue;
        printf("a process does not come to its end\n");
        f->broken++;
        (void)kill(f->pids[i], SIGKILL);
        (void)waitpid(f->pids[i], NULL, 0);
    }
}

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
    if (!history_log_write(f->log, &event))
        abort();
}

static void tell_stop(failovers *f, unsigned i, history_phase phase)
{
    const history_event event = {.process = PLAY_HARNESS + 1 + i,
                                 .phase = (uint8_t)phase,
                                 .call = HISTORY_FAULT,
                                 .count = CHECKER_DEADLINES,
                                 .name = "process stopped"};

    if (!history_log_write(f->log, &event))
        abort();
}

/* Half of the processes know nothing of a failover while they stand still. When
   they go on they have to know what they hold no more. */
static void stand_still(failovers *f)
{
    int status;

    (void)atomic_fetch_add(&f->shared->stops, 1);
    for (unsigned i = 0; i < PROCESSES / 2; i++) {
        tell_stop(f, i, HISTORY_INVOKE);
        (void)kill(f->pids[i], SIGSTOP);
        (void)waitpid(f->pids[i], &status, WUNTRACED);
    }
}

static void go_on(failovers *f)
{
    (void)atomic_fetch_add(&f->shared->stops, 1);
    for (unsigned i = 0; i < PROCESSES / 2; i++) {
        (void)kill(f->pids[i], SIGCONT);
        tell_stop(f, i, HISTORY_OK);
    }
}

static uint64_t grants(const failovers *f)
{
    return atomic_load(&f->shared->asked);
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

static bool wait_whole(const failovers *f)
{
    if (sentinels_wait_whole(f->group))
        return true;
    printf("the group does not come together again\n");
    return false;
}

static bool by_kill(failovers *f)
{
    server *old = sentinels_named_by(f->group, 0);
    uint64_t began, named;

    tell_fault(f, "the master is killed", HISTORY_INVOKE);
    stand_still(f);
    began = wait_now_ms();
    server_kill(old);
    (void)sentinels_wait_other(f->group, old);
    named = wait_now_ms();
    if (!wait_grants(f, 1))
        return false;
    f->to_name_ms[f->kills] = named - began;
    f->to_grant_ms[f->kills++] = wait_now_ms() - named;
    go_on(f);
    if (!server_restart(old) || !wait_whole(f))
        return false;
    tell_fault(f, "the master is killed", HISTORY_OK);
    return wait_grants(f, 1);
}

static bool by_request(failovers *f)
{
    server *old = sentinels_named_by(f->group, 0);

    tell_fault(f, "a failover is asked for", HISTORY_INVOKE);
    (void)sentinels_failover(f->group);
    if (!wait_grants(f, SOME)) /* mostly by the old master */
        return false;
    stand_still(f);
    (void)sentinels_wait_other(f->group, old);
    if (!wait_grants(f, SOME))
        return false;
    go_on(f);
    if (!wait_whole(f))
        return false;
    tell_fault(f, "a failover is asked for", HISTORY_OK);
    return wait_grants(f, 1);
}

static bool play(failovers *f)
{
    for (unsigned i = 0; i < f->times; i++) {
        if (!wait_grants(f, 1) || !by_request(f) || !by_kill(f)) {
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
    server *master = sentinels_named_by(f->group, 0);
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
        200 * (uint64_t)MS + 4 * atomic_load(&f->shared->worst_stall_ns);
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
                       f->directory, PLAY_HARNESS + i);
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

static void report(failovers *f, uint64_t overlaps, const judge_result *rest)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < PLAY_NAMES; i++)
        all += atomic_load(&f->shared->grants[i]);
    printf("failover=%s%s: %u failovers asked for and %zu by a kill\n",
           f->is_fast ? "fast" : "safe",
           f->is_min ? ", min-replicas-to-write 1" : "", f->times, f->kills);
    tell_times("from a kill until the next master is named", f->to_name_ms,
               f->kills);
    tell_times("from then to the next grant", f->to_grant_ms, f->kills);
    printf("%" PRIu64 " grants, %" PRIu64 " losses told, %" PRIu64
           " outcomes unknown, the machine was up to %" PRIu64 " ms late\n",
           all, atomic_load(&f->shared->losses),
           atomic_load(&f->shared->unknowns),
           atomic_load(&f->shared->worst_stall_ns) / MS);
    printf("writes under a fence: %" PRIu64 " accepted, %" PRIu64
           " refused, %" PRIu64 " unknown\n",
           rest->by_call[HISTORY_WRITE][HISTORY_OK],
           rest->by_call[HISTORY_WRITE][HISTORY_FAIL],
           rest->by_call[HISTORY_WRITE][HISTORY_UNKNOWN]);
    printf("%" PRIu64 " overlaps, %" PRIu64 " other violations\n", overlaps,
           rest->violations);
}

static int verdict(failovers *f, bool played)
{
    const char *const *left = played ? left_of(f) : NULL;
    FILE *null = fopen("/dev/null", "we");
    judge_result two, rest;
    bool judged;

    if (null == NULL)
        return 2;
    judged =
        judge(f, CHECKER_EXCLUSION, NULL, f->is_fast ? null : stdout, &two) &&
        judge(f, CHECKER_ALL & ~(unsigned)CHECKER_EXCLUSION, left, stdout,
              &rest);
    (void)fclose(null);
    if (!judged)
        return 2;
    report(f, two.violations, &rest);
    return !played || rest.violations > 0 || f->broken > 0 ||
                   (two.violations > 0 && !f->is_fast)
               ? 1
               : 0;
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
    char path[PATH];

    if (mkdir(f->directory, 0700) != 0 && errno != EEXIST)
        return false;
    remove_histories(f->directory);
    (void)snprintf(path, sizeof(path), "%s/shared", f->directory);
    f->shared = play_shared_map(path, true);
    (void)snprintf(path, sizeof(path), "%s/%d.history", f->directory,
                   PLAY_HARNESS);
    f->log = history_log_open(path, PLAY_HARNESS, PLAY_EVENTS);
    for (size_t i = 0; i < PLAY_REDLOCK; i++) {
        f->nodes[i] = server_start(NULL);
        if (f->nodes[i] == NULL)
            return false;
    }
    f->group = sentinels_start_with(&options);
    return f->shared != NULL && f->log != NULL && f->group != NULL &&
           hire_all(f) && play_pulse_start(f->log, f->shared, 0);
}

static bool read_way(failovers *f, const char *way)
{
    f->is_fast = strncmp(way, "fast", 4) == 0;
    f->is_min = strlen(way) > 4;
    return strcmp(way, "safe") == 0 || strcmp(way, "fast") == 0 ||
           strcmp(way, "safe-min") == 0 || strcmp(way, "fast-min") == 0;
}

int failovers_main(int count, char **arguments)
{
    static failovers f = {.directory = "build/failovers"};
    bool played;
    int status;

    f.times = count > 0 ? (unsigned)strtoul(arguments[0], NULL, 10) : 0;
    if (count > 3 || (count > 1 && !read_way(&f, arguments[1])) ||
        f.times > KILLS_MOST) {
        (void)fprintf(stderr, "usage: fault --failovers N "
                              "[safe|fast|safe-min|fast-min] [DIRECTORY]\n");
        return 2;
    }
    if (count > 2)
        f.directory = arguments[2];
    if (f.times == 0)
        f.times = getenv("LK_LONG") != NULL ? 20 : 2;
    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    if (!open_all(&f)) {
        perror("failovers");
        return 2;
    }
    played = play(&f);
    finish(&f);
    status = verdict(&f, played);
    for (size_t i = 0; i < PLAY_REDLOCK; i++)
        server_stop(f.nodes[i]);
    sentinels_stop(f.group);
    if (status == 0)
        remove_histories(f.directory);
    return status;
}
