/* SPDX-License-Identifier: MIT */

#include "support/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/wait.h"

enum {
    ARGUMENTS_MAX = 64,
    VARIABLES_MAX = 32,
    KEPT_MAX = 1 << 18,
    END_MS = 10000,
    TOOLS_MAX = 32
};

struct tool {
    pid_t pid; /* 0: has ended and was waited for */
    int code;
    int out;    /* a file in memory; -1: given by the test, or a terminal */
    int err;    /* the same */
    int master; /* of the terminal; -1: none */
    size_t out_size;
    char out_text[KEPT_MAX];
    char err_text[KEPT_MAX];
};

typedef struct environment {
    char path[4096];
    char url[8192];
    char *list[VARIABLES_MAX + 1]; /* ends with NULL */
} environment;

/* All that were not freed. */
static tool *live[TOOLS_MAX];

/* ---- start -------------------------------------------------------------- */

/* NAME=value in place of the one with that NAME, or behind the others. The
   text stays the caller's. */
static void add(environment *e, char *text)
{
    size_t size = strcspn(text, "=") + 1, at = 0;

    while (e->list[at] != NULL && strncmp(e->list[at], text, size) != 0)
        at++;
    assert_true(at < VARIABLES_MAX);
    e->list[at] = text;
}

/* What a tool finds around it. It is made before the fork(): memory asked for
   in the child of a process with threads may be waited for without an end, as
   AddressSanitizer's allocator may be locked by a thread that is not there. */
static void surround(environment *e, const tool_how *how)
{
    const char *path = getenv("PATH");

    (void)snprintf(e->path, sizeof(e->path), "PATH=%s",
                   path != NULL ? path : "/bin");
    add(e, e->path);
    add(e, (char *)(intptr_t) "HOME=/nonexistent");
    add(e, (char *)(intptr_t) "TERM=xterm");
    if (how->url != NULL) {
        assert_true((size_t)snprintf(e->url, sizeof(e->url), "LATCHKEY_URL=%s",
                                     how->url) < sizeof(e->url));
        add(e, e->url);
    }
    for (size_t i = 0; how->env != NULL && how->env[i] != NULL; i++)
        add(e, (char *)(intptr_t)how->env[i]);
}

/* In the child from here on: no assertion, no memory, and out with 99. */
static void need(bool is_good, const char *what)
{
    if (is_good)
        return;
    perror(what);
    _exit(99);
}

static void child_terminal(const char *path)
{
    int fd;

    need(setsid() >= 0, "setsid");
    fd = open(path, O_RDWR);
    need(fd >= 0 && ioctl(fd, TIOCSCTTY, 0) == 0, "terminal");
    for (int stream = 0; stream < 3; stream++)
        need(dup2(fd, stream) == stream, "dup2");
    if (fd > 2)
        (void)close(fd);
}

static void child_streams(const tool *t, const tool_how *how)
{
    int in = how->in != 0 ? how->in : open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = how->out != 0 ? how->out : t->out;

    need(in >= 0 && dup2(in, 0) == 0, "stdin");
    need(dup2(out, 1) == 1, "stdout");
    need(dup2(t->err, 2) == 2, "stderr");
}

static _Noreturn void child(const tool *t, const tool_how *how,
                            const char *terminal, char **argv,
                            environment *surroundings)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (terminal != NULL)
        child_terminal(terminal);
    else
        child_streams(t, how);
    environ = surroundings->list;
    (void)execvp(how->program != NULL ? how->program : LK_TOOL, argv);
    perror(argv[0]);
    _exit(99);
}

static int memory_file(void)
{
    int fd = memfd_create("kept", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
    return fd;
}

static int terminal_open(const tool_how *how, char *path, size_t size)
{
    const struct winsize window = {.ws_row = 24,
                                   .ws_col =
                                       how->columns != 0 ? how->columns : 120};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    assert_int_equal(ptsname_r(master, path, size), 0);
    assert_int_equal(ioctl(master, TIOCSWINSZ, &window), 0);
    assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    return master;
}

/* Puts t in the first place that holds what; false: there is none. */
static bool replace(const tool *what, tool *t)
{
    for (size_t i = 0; i < TOOLS_MAX; i++) {
        if (live[i] == what) {
            live[i] = t;
            return true;
        }
    }
    return false;
}

tool *tool_start_list(const tool_how *how, const char *const *arguments)
{
    static const tool_how plain;
    char *argv[ARGUMENTS_MAX + 2];
    char terminal[64];
    environment surroundings = {.list = {NULL}};
    tool *t = calloc(1, sizeof(*t));
    size_t count = 0;

    if (how == NULL)
        how = &plain;
    assert_non_null(t);
    assert_true(replace(NULL, t));
    argv[count++] =
        (char *)(intptr_t)(how->program != NULL ? how->program : "latchkey");
    while (*arguments != NULL && count <= ARGUMENTS_MAX)
        argv[count++] = (char *)(intptr_t)*arguments++;
    argv[count] = NULL;
    t->out = t->err = t->master = -1;
    if (how->has_terminal) {
        t->master = terminal_open(how, terminal, sizeof(terminal));
    } else {
        t->out = memory_file();
        t->err = memory_file();
    }
    surround(&surroundings, how);
    t->pid = fork();
    assert_true(t->pid >= 0);
    if (t->pid == 0)
        child(t, how, how->has_terminal ? terminal : NULL, argv, &surroundings);
    return t;
}

/* Collects the arguments of a variadic call. */
static void list(const char **arguments, va_list from)
{
    size_t count = 0;

    do {
        assert_true(count <= ARGUMENTS_MAX);
        arguments[count] = va_arg(from, const char *);
    } while (arguments[count++] != NULL);
}

tool *tool_start(const tool_how *how, ...)
{
    const char *arguments[ARGUMENTS_MAX + 1];
    va_list from;

    va_start(from, how);
    list(arguments, from);
    va_end(from);
    return tool_start_list(how, arguments);
}

pid_t tool_pid(const tool *t)
{
    return t->pid;
}

/* ---- what it writes ----------------------------------------------------- */

static const char *file_text(int fd, char *text)
{
    ssize_t size = fd >= 0 ? pread(fd, text, KEPT_MAX - 1, 0) : 0;

    text[size > 0 ? size : 0] = '\0';
    return text;
}

const char *tool_out(tool *t)
{
    ssize_t size;

    if (t->master < 0)
        return file_text(t->out, t->out_text);
    do {
        size = read(t->master, t->out_text + t->out_size,
                    KEPT_MAX - 1 - t->out_size);
        if (size > 0)
            t->out_size += (size_t)size;
    } while (size > 0 && t->out_size < KEPT_MAX - 1);
    t->out_text[t->out_size] = '\0';
    return t->out_text;
}

const char *tool_err(tool *t)
{
    return file_text(t->err, t->err_text);
}

typedef struct wanted {
    tool *t;
    const char *text;
} wanted;

static bool is_out(void *data)
{
    const wanted *w = data;

    return strstr(tool_out(w->t), w->text) != NULL;
}

static bool is_err(void *data)
{
    const wanted *w = data;

    return strstr(tool_err(w->t), w->text) != NULL;
}

void tool_wait_out(tool *t, const char *text, unsigned deadline_ms)
{
    wanted w = {t, text};

    if (!wait_until(is_out, &w, deadline_ms))
        fail_msg("'%s' was not written, but: %s\n%s", text, tool_out(t),
                 tool_err(t));
}

void tool_wait_err(tool *t, const char *text, unsigned deadline_ms)
{
    wanted w = {t, text};

    if (!wait_until(is_err, &w, deadline_ms))
        fail_msg("'%s' was not said, but: %s", text, tool_err(t));
}

/* Where the number behind word and = begins; NULL: not written to its end. */
static const char *number_of(const wanted *w)
{
    const char *at = strstr(tool_out(w->t), w->text);
    size_t digits;

    if (at == NULL || at[strlen(w->text)] != '=')
        return NULL;
    at += strlen(w->text) + 1;
    digits = strspn(at, "0123456789");
    return digits > 0 && at[digits] != '\0' ? at : NULL;
}

static bool is_number(void *data)
{
    return number_of(data) != NULL;
}

long tool_wait_number(tool *t, const char *word, unsigned deadline_ms)
{
    wanted w = {t, word};

    if (!wait_until(is_number, &w, deadline_ms))
        fail_msg("no number %s, but: %s\n%s", word, tool_out(t), tool_err(t));
    return strtol(number_of(&w), NULL, 10);
}

bool tool_runs(pid_t pid)
{
    char path[64];
    char stat[512] = "";
    const char *state;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    state = fgets(stat, sizeof(stat), file) != NULL ? strrchr(stat, ')') : NULL;
    (void)fclose(file);
    return state != NULL && strchr("ZX", state[2]) == NULL;
}

static bool is_gone(void *data)
{
    return !tool_runs(*(const pid_t *)data);
}

void tool_wait_gone(pid_t pid, unsigned deadline_ms)
{
    if (!wait_until(is_gone, &pid, deadline_ms))
        fail_msg("process %d stays", (int)pid);
}

void tool_type(tool *t, const char *text)
{
    assert_int_equal(write(t->master, text, strlen(text)), strlen(text));
}

/* ---- end ---------------------------------------------------------------- */

/* A terminal that nobody reads holds up who writes to it. */
static bool has_ended(void *data)
{
    tool *t = data;
    int status;

    if (t->master >= 0)
        (void)tool_out(t);
    if (t->pid == 0)
        return true;
    if (waitpid(t->pid, &status, WNOHANG) != t->pid)
        return false;
    t->pid = 0;
    t->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

int tool_wait(tool *t, unsigned deadline_ms)
{
    if (!wait_until(has_ended, t, deadline_ms))
        fail_msg("it does not end: %s\n%s", tool_out(t), tool_err(t));
    return t->code;
}

void tool_free(tool *t)
{
    if (t == NULL)
        return;
    (void)replace(t, NULL);
    if (t->pid != 0) {
        (void)kill(t->pid, SIGKILL);
        (void)waitpid(t->pid, NULL, 0);
    }
    if (t->out >= 0)
        (void)close(t->out);
    if (t->err >= 0)
        (void)close(t->err);
    if (t->master >= 0)
        (void)close(t->master);
    free(t);
}

void tool_free_all(void)
{
    for (size_t i = 0; i < TOOLS_MAX; i++)
        tool_free(live[i]);
}

/* ---- all at once -------------------------------------------------------- */

int tool_code(const tool_how *how, ...)
{
    const char *arguments[ARGUMENTS_MAX + 1];
    va_list from;
    tool *t;
    int code;

    va_start(from, how);
    list(arguments, from);
    va_end(from);
    t = tool_start_list(how, arguments);
    code = tool_wait(t, END_MS);
    tool_free(t);
    return code;
}

static void compare(const char *actual, const char *expected)
{
    size_t size = expected != NULL ? strlen(expected) : 0;

    if (expected == NULL)
        return;
    if (size == 0 || expected[size - 1] == '\n')
        assert_string_equal(actual, expected);
    else if (strstr(actual, expected) == NULL)
        fail_msg("'%s' is not in: %s", expected, actual);
}

void assert_tool(const tool_how *how, int code, const char *out,
                 const char *err, ...)
{
    const char *arguments[ARGUMENTS_MAX + 1];
    va_list from;
    tool *t;
    int actual;

    va_start(from, err);
    list(arguments, from);
    va_end(from);
    t = tool_start_list(how, arguments);
    actual = tool_wait(t, END_MS);
    if (actual != code)
        fail_msg("code %d, not %d: %s%s", actual, code, tool_out(t),
                 tool_err(t));
    compare(tool_out(t), out);
    compare(tool_err(t), err);
    tool_free(t);
}

unsigned tool_lease_ms(const tool_how *how)
{
    uint64_t begin = wait_now_ms();

    assert_tool(how, 0, "", "", "lock", "n", "true", NULL);
    return wait_lease_over_ms(wait_now_ms() - begin);
}

tool_limit tool_limit_of(const char *option, unsigned ms)
{
    tool_limit limit;

    (void)snprintf(limit.text, sizeof(limit.text), "%s%.1f", option,
                   wait_scaled_ms(ms) / 1000.0);
    return limit;
}
