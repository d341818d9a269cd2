/* SPDX-License-Identifier: MIT */

/*
 * lk_reap <program> [<argument>...]: runs a test, and sees to it that no
 * process outlives it. LK_TEST_WRAPPER names a program that runs the test
 * instead, of which the test's command line is the arguments.
 *
 * Orphans of the test become children of this one. What still runs a while
 * after the test has ended is named and killed, and the test has failed. So
 * it is when this program is told to end, and when ctest kills it: ctest kills
 * the whole tree below it, in which the orphans are.
 */

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 10, LEFT_BEHIND = 98 };

/* argv[-1] is there. */
static _Noreturn void child(char **argv, pid_t parent, const sigset_t *mask)
{
    char *wrapper = getenv("LK_TEST_WRAPPER");

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    if (wrapper != NULL)
        *--argv = wrapper;
    if (getppid() == parent)
        (void)execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

/* ---- what is left ---- */

/* Children come and go while the list is read: it serves to name and kill. */
static FILE *children_open(void)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children",
                   (int)getpid());
    return fopen(path, "re");
}

static void name(pid_t pid)
{
    char path[64];
    char line[160];
    size_t size;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    file = fopen(path, "re");
    size = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;
    if (file != NULL)
        (void)fclose(file);
    for (size_t i = 0; i < size; i++)
        if (line[i] == '\0')
            line[i] = ' ';
    line[size] = '\0';
    (void)fprintf(stderr, "lk_reap: outlived its test: %d %s\n", (int)pid,
                  line);
}

/* Names them, or kills them. */
static void each_child(bool kills)
{
    FILE *list = children_open();
    char *word = NULL;
    size_t size = 0;

    while (list != NULL && getdelim(&word, &size, ' ', list) > 0) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);

        if (kills && pid > 0)
            (void)kill(pid, SIGKILL);
        else if (pid > 0)
            name(pid);
    }
    free(word);
    if (list != NULL)
        (void)fclose(list);
}

/* Those that a killed one leaves come to us in their turn. */
static void kill_all(void)
{
    do
        each_child(true);
    while (waitpid(-1, NULL, 0) > 0 || errno != ECHILD);
}

/* ---- the wait ---- */

typedef struct watch {
    pid_t test;
    int status; /* of the test, once it has ended */
    bool has_ended;
} watch;

/* Takes in all ends so far; false: no child is left. */
static bool reap(watch *w)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == w->test) {
            w->status = status;
            w->has_ended = true;
        }
    }
    return pid == 0;
}

/* A test that a signal ended has said nothing. */
static int code_of(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)fprintf(stderr, "lk_reap: the test was ended by a signal: %s\n",
                  strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
}

/* What is left has a grace from the end of the test on. */
static int see_to_the_end(watch *w, const sigset_t *told)
{
    long grace = GRACE_S;
    const char *slow = getenv("LK_TEST_SLOW");
    time_t until = 0;

    if (slow != NULL)
        grace *= strtol(slow, NULL, 10);
    while (reap(w)) {
        const struct timespec tick = {.tv_nsec = 100000000};
        int signal;

        if (w->has_ended && until == 0)
            until = time(NULL) + grace;
        if (w->has_ended && time(NULL) > until) {
            each_child(false);
            kill_all();
            return LEFT_BEHIND;
        }
        signal = sigtimedwait(told, NULL, &tick);
        if (signal > 0 && signal != SIGCHLD) {
            kill_all();
            return 128 + signal;
        }
    }
    return code_of(w->status);
}

int main(int argc, char **argv)
{
    watch w = {.status = 0};
    pid_t self = getpid();
    sigset_t told, mask;

    if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 127;
    (void)sigemptyset(&told);
    (void)sigaddset(&told, SIGCHLD);
    (void)sigaddset(&told, SIGTERM);
    (void)sigaddset(&told, SIGINT);
    (void)sigaddset(&told, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &told, &mask);
    w.test = fork();
    if (w.test == 0)
        child(argv + 1, self, &mask);
    if (w.test < 0)
        return 127;
    return see_to_the_end(&w, &told);
}
