/* SPDX-License-Identifier: MIT */

/* The simulator's program; usage() tells what it does. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "play/fault.h"
#include "play/shrink.h"

enum { JOBS_MOST = 64, CLASSES_MOST = 64 };

typedef struct sim_options {
    uint64_t first, last; /* seeds */
    uint64_t seconds;     /* 0: as long as it takes */
    unsigned jobs;
    sim_profile profile;
    bool one, trace, shrink, twice, is_short;
    const char *edits;
} sim_options;

/* What a job has done. */
typedef struct sim_sums {
    uint64_t seeds, violations;
    sim_counts counts;
    uint64_t faults[CLASSES_MOST];
} sim_sums;

static void usage(void)
{
    printf(
        "usage: sim [OPTION...]\n"
        "\n"
        "Plays runs of whole clients and servers in one thread and one "
        "virtual\n"
        "time. A seed stands for a run: it happens the same way each time.\n"
        "\n"
        "  --seeds A-B      these; default: from a new one on, with --seconds\n"
        "  --seconds N      for so long; default 60 without --seeds\n"
        "  --seed S         this one\n"
        "  --trace          tells its story\n"
        "  --shrink S       makes a run that fails smaller, and tells its "
        "story\n"
        "  --edit TEXT      plays --seed with these changes, as --shrink says\n"
        "  --profile NAME   lock fairlock rwlock semaphore siglock stripes\n"
        "                   multilock latch plain redlock barrier cell "
        "flight\n"
        "                   export limit timed nameless newborn turns"
        " extended election;\n"
        "                   default: by the seed\n"
        "  --jobs N         processes; default: one for each processor\n"
        "  --short          each an eighth as long, with as many faults\n"
        "  --twice          plays each seed twice: both have to be the same\n");
}

/* ---- options ---------------------------------------------------------------------- */

static bool number_take(const char *text, uint64_t *ret_number)
{
    char *end;

    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool range_take(const char *text, sim_options *options)
{
    char *end;

    options->first = strtoull(text, &end, 10);
    return end != text && *end == '-' && number_take(end + 1, &options->last) &&
           options->last >= options->first;
}

static bool seed_take(const char *text, sim_options *options)
{
    options->one = true;
    if (!number_take(text, &options->first))
        return false;
    options->last = options->first;
    return true;
}

static bool jobs_take(const char *text, sim_options *options)
{
    uint64_t jobs;

    if (!number_take(text, &jobs) || jobs < 1 || jobs > JOBS_MOST)
        return false;
    options->jobs = (unsigned)jobs;
    return true;
}

static bool flag_take(const char *word, sim_options *options)
{
    if (strcmp(word, "--trace") == 0)
        options->trace = true;
    else if (strcmp(word, "--twice") == 0)
        options->twice = true;
    else if (strcmp(word, "--short") == 0)
        options->is_short = true;
    else
        return false;
    return true;
}

static bool
option_take(const char *word, const char *value, sim_options *options)
{
    if (strcmp(word, "--seeds") == 0)
        return range_take(value, options);
    if (strcmp(word, "--seconds") == 0)
        return number_take(value, &options->seconds);
    if (strcmp(word, "--seed") == 0)
        return seed_take(value, options);
    if (strcmp(word, "--jobs") == 0)
        return jobs_take(value, options);
    if (strcmp(word, "--profile") == 0)
        return sim_profile_find(value, &options->profile);
    if (strcmp(word, "--edit") == 0)
        return (options->edits = value) != NULL;
    options->shrink = true;
    return strcmp(word, "--shrink") == 0 && seed_take(value, options);
}

static bool options_take(int argc, char **argv, sim_options *options)
{
    for (int i = 1; i < argc; i++) {
        if (flag_take(argv[i], options))
            continue;
        if (i + 1 == argc || !option_take(argv[i], argv[i + 1], options))
            return false;
        i++;
    }
    if (options->last == 0) {
        options->first = (uint64_t)time(NULL) * 1000;
        options->last = UINT64_MAX;
        if (options->seconds == 0)
            options->seconds = 60;
    }
    return true;
}

/* ---- one run ------------------------------------------------------------------------ */

static void
plan_prepare(sim_plan *plan, uint64_t seed, const sim_options *options)
{
    sim_plan_make(plan, seed, options->profile, options->is_short);
    if (options->edits != NULL && !sim_plan_edit(plan, options->edits))
        sim_wrong("the edits are not understood: %s", options->edits);
}

static void counts_add(sim_counts *all, const sim_counts *one)
{
    all->operations += one->operations;
    all->grants += one->grants;
    all->losses += one->losses;
    all->faults += one->faults;
    all->steps += one->steps;
    all->commands += one->commands;
    all->stale += one->stale;
}

static void
tell_violation(uint64_t seed, const sim_plan *plan, const char *words)
{
    const char *profile = sim_profile_word(plan->profile);
    const char *length = plan->is_short ? " --short" : "";
    char line[SIM_WORDS_MOST + 256];

    (void)snprintf(line, sizeof(line),
                   "VIOLATION seed %" PRIu64 " profile %s%s: %s\n"
                   "again: ./dev sim --seed %" PRIu64
                   " --profile %s%s --trace\n",
                   seed, profile, length, words, seed, profile, length);
    if (write(STDOUT_FILENO, line, strlen(line)) < 0)
        exit(2);
}

static void seed_play(uint64_t seed, const sim_options *options,
                      sim_engine *engine, sim_sums *sums)
{
    sim_plan *plan = sim_alloc(sizeof(*plan));
    sim_result result, again;

    plan_prepare(plan, seed, options);
    if (options->trace)
        sim_plan_print(plan, stdout);
    sim_run_play(plan, engine, options->trace ? stdout : NULL, sums->faults,
                 &result);
    if (options->twice) {
        sim_run_play(plan, engine, NULL, sums->faults, &again);
        if (again.trace != result.trace)
            (void)snprintf(result.violation, sizeof(result.violation),
                           "played twice, it was not the same");
    }
    sums->seeds++;
    counts_add(&sums->counts, &result.counts);
    if (result.violation[0] != '\0') {
        sums->violations++;
        tell_violation(seed, plan, result.violation);
    }
    if (options->one)
        printf("seed %" PRIu64 " trace %016" PRIx64 "\n", seed, result.trace);
    free(plan);
}

static int shrink(const sim_options *options)
{
    sim_plan *plan = sim_alloc(sizeof(*plan));
    sim_engine *engine = sim_engine_new();
    uint64_t faults[CLASSES_MOST] = {0};
    sim_result result;
    unsigned runs;

    plan_prepare(plan, options->first, options);
    runs = sim_shrink(plan, engine);
    if (runs > 0) {
        sim_plan_print(plan, stdout);
        sim_run_play(plan, engine, stdout, faults, &result);
        printf("after %u runs: sim --seed %" PRIu64 " --profile %s%s --trace "
               "--edit ",
               runs, plan->seed, sim_profile_word(plan->profile),
               plan->is_short ? " --short" : "");
        sim_plan_print_edits(plan, stdout);
        printf("\n");
    } else {
        printf("seed %" PRIu64 " does not fail\n", plan->seed);
    }
    sim_engine_free(engine);
    free(plan);
    return runs > 0;
}

/* ---- many --------------------------------------------------------------------------- */

static uint64_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Every jobs-th seed from the job's own on. */
static void job_run(const sim_options *options, unsigned job, sim_sums *sums)
{
    sim_engine *engine = sim_engine_new();
    uint64_t end = seconds_now() + options->seconds;
    uint64_t seed = options->first + job;

    while (seed <= options->last &&
           (options->seconds == 0 || seconds_now() < end)) {
        seed_play(seed, options, engine, sums);
        seed += options->jobs;
    }
    sim_engine_free(engine);
}

/* The job's process, and where its sums come from. */
static pid_t job_start(const sim_options *options, unsigned job, int *ret_fd)
{
    sim_sums sums = {.seeds = 0};
    int ends[2];
    pid_t pid;

    if (pipe(ends) != 0 || (pid = fork()) < 0)
        sim_wrong("no process");
    *ret_fd = ends[0];
    if (pid > 0) {
        close(ends[1]);
        return pid;
    }
    job_run(options, job, &sums);
    if (write(ends[1], &sums, sizeof(sums)) != (ssize_t)sizeof(sums))
        exit(2);
    exit(0);
}

/* False: it did not come to its end. */
static bool job_end(pid_t pid, int fd, sim_sums *all)
{
    sim_sums sums;
    bool whole = read(fd, &sums, sizeof(sums)) == (ssize_t)sizeof(sums);
    int status = 0;

    close(fd);
    if (waitpid(pid, &status, 0) != pid || status != 0 || !whole)
        return false;
    all->seeds += sums.seeds;
    all->violations += sums.violations;
    counts_add(&all->counts, &sums.counts);
    for (int i = 0; i < CLASSES_MOST; i++)
        all->faults[i] += sums.faults[i];
    return true;
}

static bool jobs_run(const sim_options *options, sim_sums *all)
{
    pid_t pids[JOBS_MOST];
    int fds[JOBS_MOST];
    bool whole = true;

    if (options->jobs == 1) {
        job_run(options, 0, all);
        return true;
    }
    for (unsigned i = 0; i < options->jobs; i++)
        pids[i] = job_start(options, i, &fds[i]);
    for (unsigned i = 0; i < options->jobs; i++)
        whole &= job_end(pids[i], fds[i], all);
    return whole;
}

static void sums_print(const sim_options *options, const sim_sums *sums)
{
    printf("seeds %" PRIu64 " from %" PRIu64 ", operations %" PRIu64
           ", grants %" PRIu64 ", stale %" PRIu64 ", losses %" PRIu64
           ", commands %" PRIu64 ", steps %" PRIu64 ", faults %" PRIu64
           ", violations %" PRIu64 "\n",
           sums->seeds, options->first, sums->counts.operations,
           sums->counts.grants, sums->counts.stale, sums->counts.losses,
           sums->counts.commands, sums->counts.steps, sums->counts.faults,
           sums->violations);
    printf("faults:");
    for (unsigned i = 0; i < sim_fault_class_count; i++)
        printf(" %s %" PRIu64 "%s", sim_fault_classes[i].word, sums->faults[i],
               i + 1 < sim_fault_class_count ? "," : "\n");
}

int main(int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    sim_options options = {.jobs = processors > 1 ? (unsigned)processors : 1,
                           .profile = SIM_PROFILE_ALL};
    sim_sums sums = {.seeds = 0};

    if (!options_take(argc, argv, &options)) {
        usage();
        return 2;
    }
    if (options.shrink)
        return shrink(&options);
    if (options.one)
        options.jobs = 1;
    if (!jobs_run(&options, &sums)) {
        printf("a job did not come to its end\n");
        return 2;
    }
    sums_print(&options, &sums);
    return sums.violations > 0;
}
