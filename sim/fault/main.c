/* SPDX-License-Identifier: MIT */

/*
 * fault [--minutes N] [--seed S] [--directory PATH] [--brisk]
 *
 * Plays rounds of real processes on real servers under faults, and judges their
 * histories. What each round does follows from its seed, as far as the machine
 * lets it; its histories stay in the directory if something is found in them.
 * With --brisk there are threads besides that take and release without a pause,
 * and rounds are longer.
 * With --failovers it plays those of a Sentinel group; see failovers.h.
 * Exit status: 0 nothing, 1 something was found, 2 it could not be played.
 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check/judge.h"
#include "fault/failovers.h"
#include "fault/nemesis.h"

enum {
    MS = 1000000,
    ROUND_MS = 10000,
    BRISK_ROUND_MS = 30000,
    FILES = 512,
    PATH = 512
};

typedef struct session {
    const char *directory;
    uint64_t minutes, seed;
    bool brisk;
    nemesis_count counts[NEMESIS_CLASSES];
    uint64_t grants[PLAY_ALL_NAMES], losses, unknowns;
    uint64_t rounds, events, violations, crashes;
    uint64_t worst_ns;
    uint64_t began, judging_ns;
} session;

/* ---- files ---- */

typedef struct files {
    char *paths[FILES];
    size_t count;
} files;

static void files_find(files *f, const char *directory, const char *ending)
{
    DIR *open = opendir(directory);
    const struct dirent *entry;
    char path[PATH + sizeof(entry->d_name)];

    *f = (files){.count = 0};
    while (open != NULL && (entry = readdir(open)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');

        if (entry->d_name[0] == '.' || f->count == FILES ||
            (ending != NULL && (dot == NULL || strcmp(dot, ending) != 0)))
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        f->paths[f->count] = strdup(path);
        f->count += f->paths[f->count] != NULL ? 1 : 0;
    }
    if (open != NULL)
        (void)closedir(open);
}

static void files_free(files *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->paths[i]);
}

static void remove_all(const char *directory)
{
    files f;

    files_find(&f, directory, NULL);
    for (size_t i = 0; i < f.count; i++)
        (void)unlink(f.paths[i]);
    files_free(&f);
    (void)rmdir(directory);
}

/* ---- a round ---- */

/*
 * The bounds follow from how late the machine was. A waiter may meet a name
 * that was handed over to somebody who is dead, or stands still, 3 s each, looks
 * again within a second, and connects again within another one.
 */
static checker_options options_of(const stage *s)
{
    const uint64_t stall = atomic_load(&s->shared->worst_stall_ns);
    const uint64_t late = 200 * (uint64_t)MS + 4 * stall;

    return (checker_options){.late_ns = late,
                             .told_ns = late,
                             .granted_ns = 8000 * (uint64_t)MS + late,
                             .answer_ns = late,
                             .permits = PLAY_PERMITS};
}

static void add_up(session *all, const stage *s, const judge_result *result)
{
    uint64_t worst = atomic_load(&s->shared->worst_stall_ns);

    for (int i = 0; i < PLAY_ALL_NAMES; i++)
        all->grants[i] += atomic_load(&s->shared->grants[i]);
    all->losses += atomic_load(&s->shared->losses);
    all->unknowns += atomic_load(&s->shared->unknowns);
    all->events += result->events;
    all->violations += result->violations;
    all->crashes += s->crashes;
    all->rounds++;
    if (worst > all->worst_ns)
        all->worst_ns = worst;
}

static bool
judge(session *all, stage *s, uint64_t seed, const char *const *left)
{
    const checker_options options = options_of(s);
    const uint64_t before = history_now();
    judge_result result;
    files f;
    bool whole;

    files_find(&f, s->directory, ".history");
    whole = judge_files((const char *const *)f.paths, f.count, &options, left,
                        stdout, &result);
    files_free(&f);
    all->judging_ns += history_now() - before;
    add_up(all, s, &result);
    printf("seed %" PRIu64 ": %" PRIu64 " events, %" PRIu64
           " violations, the machine was up to %" PRIu64 " ms late\n",
           seed, result.events, result.violations + s->crashes,
           atomic_load(&s->shared->worst_stall_ns) / MS);
    if (result.violations > 0)
        printf("again: check_history --late %" PRIu64 " --granted %" PRIu64
               " --permits %d %s/*.history\n",
               options.late_ns / MS, options.granted_ns / MS, PLAY_PERMITS,
               s->directory);
    (void)fflush(stdout);
    return whole && result.violations == 0 && s->crashes == 0;
}

/* False: it could not be played. */
static bool play_round(session *all, uint64_t seed)
{
    const uint64_t round_ms = all->brisk ? BRISK_ROUND_MS : ROUND_MS;
    char directory[PATH];
    static stage s;
    bool played;

    (void)snprintf(directory, sizeof(directory), "%s/%" PRIu64, all->directory,
                   seed);
    remove_all(directory);
    if (mkdir(directory, 0700) != 0) {
        perror(directory);
        return false;
    }
    played = stage_open(&s, directory, seed, all->brisk) &&
             play_pulse_start(s.log, s.shared, 0) &&
             nemesis_play(&s, history_now() + round_ms * MS, all->counts);
    if (played) {
        stage_finish(&s);
        if (judge(all, &s, seed, stage_left(&s)))
            remove_all(directory);
    }
    stage_close(&s);
    return played;
}

/* ---- the session ---- */

static uint64_t report_faults(const session *all)
{
    uint64_t sum = 0;

    printf("\nfaults\n");
    for (int i = 0; i < NEMESIS_CLASSES; i++) {
        printf("  %-36s %8" PRIu64 "\n", all->counts[i].name,
               all->counts[i].times);
        sum += all->counts[i].times;
    }
    return sum;
}

static uint64_t report_holds(const session *all)
{
    uint64_t sum = 0;

    printf("holds had\n");
    for (int i = 0; i < PLAY_ALL_NAMES; i++) {
        if (all->grants[i] > 0)
            printf("  %-12s %-23s %8" PRIu64 "\n",
                   history_kind_word(play_names[i].kind), play_names[i].name,
                   all->grants[i]);
        sum += all->grants[i];
    }
    return sum;
}

static void report(const session *all)
{
    const double seconds = (double)(history_now() - all->began) / 1e9;
    const uint64_t faults = report_faults(all);
    const uint64_t holds = report_holds(all);

    printf("%" PRIu64 " holds and %" PRIu64 " faults in %" PRIu64
           " rounds: %.0f holds a second; the judge took %.1f of %.0f s\n",
           holds, faults, all->rounds, (double)holds / seconds,
           (double)all->judging_ns / 1e9, seconds);
    printf("%" PRIu64 " losses told, %" PRIu64 " outcomes unknown, %" PRIu64
           " events\n",
           all->losses, all->unknowns, all->events);
    printf("seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " violations, %" PRIu64
           " crashes; the machine was up to %" PRIu64 " ms late\n",
           all->seed, all->seed + all->rounds - 1, all->violations,
           all->crashes, all->worst_ns / MS);
}

static int play(session *all)
{
    const uint64_t until = history_now() + all->minutes * 60000 * MS;
    bool played;

    all->began = history_now();
    nemesis_names(all->counts);
    if (mkdir(all->directory, 0700) != 0 && errno != EEXIST) {
        perror(all->directory);
        return 2;
    }
    do
        played = play_round(all, all->seed + all->rounds);
    while (played && history_now() < until);
    report(all); /* what was played counts, however it ended */
    if (!played)
        return 2;
    return all->violations + all->crashes == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static session all = {.directory = "build/fault", .minutes = 1, .seed = 1};

    if (argc > 4 && strcmp(argv[1], "--worker") == 0)
        return play_worker(argv + 2);
    if (argc > 1 && strcmp(argv[1], "--failovers") == 0)
        return failovers_main(argc - 2, argv + 2);
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1];

        if (strcmp(argv[i], "--brisk") == 0) {
            all.brisk = true;
            i--;
        } else if (value != NULL && strcmp(argv[i], "--minutes") == 0)
            all.minutes = strtoull(value, NULL, 10);
        else if (value != NULL && strcmp(argv[i], "--seed") == 0)
            all.seed = strtoull(value, NULL, 10);
        else if (value != NULL && strcmp(argv[i], "--directory") == 0)
            all.directory = value;
        else {
            (void)fprintf(stderr, "usage: fault [--minutes N] [--seed S] "
                                  "[--directory PATH] [--brisk]\n"
                                  "       fault --failovers ...\n");
            return 2;
        }
    }
    return play(&all);
}
