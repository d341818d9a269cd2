/* SPDX-License-Identifier: MIT */

/* Clocks, processors, quantiles, children. */

#include "measure.h"

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

enum { QUIET_TRIES = 60, QUIET_LOOK_MS = 50 };

void *memory_new(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL)
        errx(1, "no memory");
    return memory;
}

/* ---- time ---------------------------------------------------------------- */

uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

    while (nanosleep(&left, &left) != 0)
        continue;
}

bool is_quick(void)
{
    const char *quick = getenv("LK_BENCH_QUICK");

    return quick != NULL && strcmp(quick, "1") == 0;
}

uint64_t scaled_ns(uint64_t ns)
{
    return is_quick() ? ns / 10 : ns;
}

/* ---- processors ------------------------------------------------------------ */

/* What the program was given: asked for once, before anything is pinned. */
static const cpu_set_t *cpus_given(void)
{
    static cpu_set_t given;

    if (CPU_COUNT(&given) == 0 &&
        sched_getaffinity(0, sizeof(given), &given) != 0)
        errx(1, "cannot ask for processors");
    return &given;
}

int cpu_nth(unsigned n)
{
    const cpu_set_t *given = cpus_given();
    int found = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, given))
            continue;
        found = cpu;
        if (n-- == 0)
            break;
    }
    return found;
}

void pin(int thread, int cpu)
{
    cpu_set_t set = *cpus_given();

    if (cpu != ANY_CPU) {
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
    }
    if (sched_setaffinity(thread, sizeof(set), &set) != 0)
        errx(1, "cannot pin to processor %d", cpu);
}

bool hurry(void)
{
    struct sched_param param = {.sched_priority = 1};

    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

/* The line "cpu": ticks of user, nice, system, idle, iowait, irq, softirq. */
uint64_t machine_busy_ns(void)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
    uint64_t ticks[FIELDS];
    char line[256];
    char *at = line + strlen("cpu");
    FILE *file = fopen("/proc/stat", "re");

    if (file == NULL || fgets(line, sizeof(line), file) == NULL)
        errx(1, "cannot read /proc/stat");
    (void)fclose(file);
    for (int i = 0; i < FIELDS; i++)
        ticks[i] = strtoull(at, &at, 10);
    return (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] +
            ticks[SOFTIRQ]) *
           NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t time_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

uint64_t own_busy_ns(void)
{
    struct rusage self, children;

    (void)getrusage(RUSAGE_SELF, &self);
    (void)getrusage(RUSAGE_CHILDREN, &children);
    return time_ns(&self.ru_utime) + time_ns(&self.ru_stime) +
           time_ns(&children.ru_utime) + time_ns(&children.ru_stime);
}

double foreign_part(uint64_t machine_ns, uint64_t own_ns, uint64_t server_ns,
                    uint64_t ns)
{
    uint64_t known = own_ns + server_ns;

    /* The machine counts in ticks: it may have counted less. */
    return machine_ns <= known ? 0 : (double)(machine_ns - known) / (double)ns;
}

void wait_for_quiet(void)
{
    for (int i = 0; i < QUIET_TRIES; i++) {
        uint64_t before = machine_busy_ns();
        uint64_t look = QUIET_LOOK_MS * NS_PER_S / 1000;

        sleep_ns(look);
        if (machine_busy_ns() - before <= look / 4)
            return;
    }
}

/* ---- numbers --------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double quantile(double *numbers, size_t count, double p)
{
    double place = count == 0 ? 0 : p * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;

    if (count == 0)
        return 0;
    qsort(numbers, count, sizeof(*numbers), compare);
    if (below + 1 >= count)
        return numbers[count - 1];
    return numbers[below] * (1 - part) + numbers[below + 1] * part;
}

double settled(const double *numbers, const double *noise, size_t count)
{
    double *copy = memory_new(count, sizeof(*copy));
    double limit, median;
    size_t used = 0;

    memcpy(copy, noise, count * sizeof(*copy));
    limit = quantile(copy, count, 0.5);
    for (size_t i = 0; i < count; i++) {
        if (noise[i] <= limit)
            copy[used++] = numbers[i];
    }
    median = quantile(copy, used, 0.5);
    free(copy);
    return median;
}

/* ---- children -------------------------------------------------------------- */

void *shared_new(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        errx(1, "no shared memory");
    return memory;
}

void shared_free(void *memory, size_t size)
{
    (void)munmap(memory, size);
}

void run_apart(void (*fn)(void *data), void *data)
{
    pid_t parent = getpid();
    pid_t child = fork();
    int status;

    if (child < 0)
        errx(1, "cannot fork");
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        fn(data);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        errx(1, "a measurement failed");
}

void child_kill(int pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}
