/* SPDX-License-Identifier: MIT */
#include "fault/failovers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault/course.h"
#include "fault/rings.h"
#include "support/wait.h"

enum {
    SOME = 20,
    URL = 300,
    STOP_MS = 5000,
    ASK_MS = 30000, /* scaled; then a failover that was asked for is off */
    ASKS = 3,
    TIMES_MOST = 100
};

typedef struct failovers {
    bool is_fast, is_min;
    bool restarts; /* of the master, and nothing else */
    unsigned times;
    course course;
    /* Of each kill: until all sentinels name the next master; from then until the
       seeker has something; and both. */
    uint64_t to_name_ms[TIMES_MOST], from_name_ms[TIMES_MOST];
    uint64_t to_grant_ms[TIMES_MOST];
    size_t kills;
    unsigned replaced; /* masters that were stopped, and another was named */
} failovers;

/* ---- failovers ------------------------------------------------------------------ */

static bool wait_whole(const failovers *f)
{
    if (sentinels_wait_whole(f->course.crew.group))
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
    server *old = sentinels_named_by(f->course.crew.group, 0);
    uint64_t began, named, granted, before;

    course_fault(&f->course, "the master is killed", HISTORY_INVOKE, true);
    crew_stand_still(&f->course.crew);
    crew_deafen(&f->course.crew);
    began = wait_now_ms();
    server_kill(old);
    before = seeker_found(&f->course.seeker);
    (void)sentinels_wait_other(f->course.crew.group, old);
    named = wait_now_ms();
    if (!course_wait_found(&f->course, before))
        return false;
    granted = wait_now_ms();
    f->to_name_ms[f->kills] = named - began;
    f->from_name_ms[f->kills] = granted - named;
    f->to_grant_ms[f->kills++] = granted - began;
    if (!course_wait_grants(&f->course, 1))
        return false;
    crew_go_on(&f->course.crew);
    if (!server_restart(old) || !wait_whole(f))
        return false;
    crew_heal(&f->course.crew);
    course_fault(&f->course, "the master is killed", HISTORY_OK, true);
    return course_wait_grants(&f->course, 1);
}

/* A sentinel that the machine keeps from running for seconds gives a failover up. */
static bool wait_asked(failovers *f, const server *old)
{
    for (int i = 0; i < ASKS; i++) {
        if (sentinels_name_other(f->course.crew.group, old, ASK_MS))
            return true;
        if (i + 1 < ASKS)
            (void)sentinels_failover(f->course.crew.group);
    }
    printf("the sentinels keep the master\n");
    return false;
}

/* The old master takes writes for eleven seconds more. */
static bool by_request(failovers *f)
{
    server *old = sentinels_named_by(f->course.crew.group, 0);

    course_fault(&f->course, "a failover is asked for", HISTORY_INVOKE, true);
    (void)sentinels_failover(f->course.crew.group);
    crew_deafen(&f->course.crew);
    if (!course_wait_grants(&f->course, SOME)) /* mostly by the old master */
        return false;
    crew_stand_still(&f->course.crew);
    if (!wait_asked(f, old) || !course_wait_grants(&f->course, SOME))
        return false;
    crew_go_on(&f->course.crew);
    if (!wait_whole(f))
        return false;
    crew_heal(&f->course.crew);
    course_fault(&f->course, "a failover is asked for", HISTORY_OK, true);
    return course_wait_grants(&f->course, 1);
}

/* It goes on with its data, and takes writes for ten seconds. Deaf ones hear
   again meanwhile. Sentinels that the machine has kept from running do not find
   it down, so it may remain the master. */
static bool by_stop(failovers *f)
{
    server *old = sentinels_named_by(f->course.crew.group, 0);
    uint64_t until = wait_now_ms() + STOP_MS;

    course_fault(&f->course, "the master is stopped", HISTORY_INVOKE, true);
    crew_deafen(&f->course.crew);
    server_freeze(old);
    (void)wait_until(has_passed, &until, STOP_MS);
    f->replaced += sentinels_named_by(f->course.crew.group, 0) != old;
    server_thaw(old);
    if (!course_wait_grants(&f->course, SOME))
        return false;
    crew_heal(&f->course.crew);
    if (!wait_whole(f))
        return false;
    course_fault(&f->course, "the master is stopped", HISTORY_OK, true);
    return course_wait_grants(&f->course, 1);
}

/* It is back at once, writable and empty: mostly before a sentinel has missed it. */
static bool by_restart(failovers *f)
{
    server *master = sentinels_named_by(f->course.crew.group, 0);

    course_fault(&f->course, "the master restarts", HISTORY_INVOKE, true);
    if (!server_restart(master) || !course_wait_grants(&f->course, SOME) ||
        !wait_whole(f))
        return false;
    f->replaced += sentinels_named_by(f->course.crew.group, 0) != master;
    course_fault(&f->course, "the master restarts", HISTORY_OK, true);
    return course_wait_grants(&f->course, 1);
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
        if (!course_wait_grants(&f->course, 1) || !play_one(f)) {
            printf("failover %u: it does not go on\n", i);
            return false;
        }
    }
    return true;
}

/* ---- the verdict ------------------------------------------------------------------ */

static void report(failovers *f)
{
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
    course_tell_times("from a kill until the next master is named",
                      f->to_name_ms, f->kills);
    course_tell_times("from then to a grant of what nobody has",
                      f->from_name_ms, f->kills);
    course_tell_times("from a kill to such a grant", f->to_grant_ms, f->kills);
}

/* ---- the whole ------------------------------------------------------------------- */

static bool open_all(failovers *f)
{
    static const char *const min[] = {"--min-replicas-to-write", "1", NULL};
    const sentinels_options options =
        {.server_args = f->is_min ? min : NULL,
         .config = "sentinel failover-timeout m 5000\n"};

    const char *more = f->is_fast ? "?failover=fast" : "";
    char url[URL];

    if (!course_open(&f->course) || !crew_open(&f->course.crew, &options) ||
        !crew_hire(&f->course.crew, more))
        return false;
    (void)snprintf(url, sizeof(url), "%s%s", f->course.crew.group->url, more);
    return seeker_start(&f->course.seeker, url, "");
}

static bool read_way(failovers *f, const char *way)
{
    f->restarts = strcmp(way, "restarts") == 0;
    f->is_fast = strstr(way, "fast") != NULL;
    f->is_min = strstr(way, "-min") != NULL;
    return f->restarts || strcmp(way, "cluster") == 0 ||
           strcmp(way, "cluster-fast") == 0 || strcmp(way, "safe") == 0 ||
           strcmp(way, "fast") == 0 || strcmp(way, "safe-min") == 0 ||
           strcmp(way, "fast-min") == 0;
}

/* Of all ways together. */
static unsigned times_of(const char *text, unsigned some)
{
    unsigned times = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;

    if (times == 0)
        times = getenv("LK_LONG") != NULL ? 20 : some;
    return times;
}

static int play_group(failovers *f)
{
    bool played;
    int status;

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    if (!open_all(f)) {
        perror("failovers");
        return 2;
    }
    played = play(f);
    seeker_stop(&f->course.seeker);
    crew_finish(&f->course.crew);
    if (played)
        course_look(&f->course, sentinels_named_by(f->course.crew.group, 0));
    report(f);
    status = course_verdict(&f->course, played, f->is_fast);
    course_close(&f->course, status == 0);
    return status;
}

int failovers_main(int count, char **arguments)
{
    static failovers f = {.course.crew = {.directory = "build/failovers"}};
    bool is_ring = count > 1 && strncmp(arguments[1], "cluster", 7) == 0;

    f.times = times_of(count > 0 ? arguments[0] : NULL, is_ring ? 10 : 2);
    if (count > 3 || f.times > TIMES_MOST ||
        (count > 1 && !read_way(&f, arguments[1]))) {
        (void)fprintf(stderr, "usage: fault --failovers N "
                              "[safe|fast|safe-min|fast-min|restarts|"
                              "cluster|cluster-fast] "
                              "[DIRECTORY]\n");
        return 2;
    }
    if (count > 2)
        f.course.crew.directory = arguments[2];
    return is_ring ? rings_main(f.times, f.is_fast, f.course.crew.directory)
                   : play_group(&f);
}
