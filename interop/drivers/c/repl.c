/* SPDX-License-Identifier: MIT */

/* The mode that obeys: an actor is a thread that reads its requests from a
   pipe of its own, so they are done in order. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

enum { ACTORS_MAX = 64, WORDS_MAX = 7, HELD_MAX = 16, LINE_SIZE = 1024 };

/* A kind and name that an actor has used, and what it holds of it. */
typedef struct seat {
    struct seat *next;
    char kind[16];
    char name[256];
    grip *grip;
    lk_hold *holds[HELD_MAX]; /* the last one is given back first */
    size_t held;
} seat;

typedef struct actor {
    char name[32];
    pthread_t thread;
    const servers *from;
    FILE *in;  /* read by the actor */
    FILE *out; /* written by the reader of standard input */
    seat *seats;
} actor;

/* ---- answers -------------------------------------------------------------- */

static void answer(const actor *a, const char *text)
{
    printf("%s %s\n", a->name, text);
}

static void answer_status(const actor *a, lk_status status)
{
    char text[256];

    if (status == LK_OK)
        answer(a, "ok");
    else if (status == LK_EBUSY || status == LK_ETIMEDOUT ||
             status == LK_ENOTHELD || status == LK_EALREADY ||
             status == LK_EUNSET)
        answer(a, "no");
    else {
        (void)snprintf(text, sizeof(text), "error %s %s",
                       lk_status_name(status), lk_last_error());
        answer(a, text);
    }
}

static void answer_number(const actor *a, lk_status status, long long number)
{
    char text[64];

    if (status != LK_OK) {
        answer_status(a, status);
        return;
    }
    (void)snprintf(text, sizeof(text), "ok %lld", number);
    answer(a, text);
}

/* ---- what an actor uses ----------------------------------------------------- */

static seat *seat_find(actor *a, const char *kind, const char *name)
{
    seat *s = a->seats;

    while (s != NULL &&
           (strcmp(s->kind, kind) != 0 || strcmp(s->name, name) != 0))
        s = s->next;
    if (s != NULL)
        return s;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    (void)snprintf(s->kind, sizeof(s->kind), "%s", kind);
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
    s->grip = grip_new(a->from, kind, name);
    if (s->grip == NULL) {
        free(s);
        return NULL;
    }
    s->next = a->seats;
    a->seats = s;
    return s;
}

static void seats_free(actor *a)
{
    while (a->seats != NULL) {
        seat *s = a->seats;

        a->seats = s->next;
        grip_free(s->grip);
        free(s);
    }
}

/* ---- verbs ------------------------------------------------------------------ */

/* A request may be on its way when the wait ends. It is not held then, and what
   the server grants yet is given back. */
static lk_status ended(lk_status status, int64_t wait_ms)
{
    return status == LK_EINDOUBT && wait_ms > 0 ? LK_ETIMEDOUT : status;
}

static void do_lock(actor *a, seat *s, char **words)
{
    int64_t wait_ms = number_of(words[0], 0);
    lk_hold *hold = NULL;
    lk_status status =
        s->held == HELD_MAX
            ? LK_EINVAL
            : grip_acquire(s->grip, wait_ms, (uint64_t)number_of(words[1], 0),
                           &hold);

    status = ended(status, wait_ms);
    if (status == LK_OK)
        s->holds[s->held++] = hold;
    answer_number(a, status,
                  status == LK_OK ? (long long)lk_hold_fence(hold) : 0);
}

static void do_unlock(actor *a, seat *s, char **words)
{
    (void)words;
    if (s->held == 0)
        answer(a, "error not held");
    else
        answer_status(a, lk_hold_release(s->holds[--s->held]));
}

static void do_force(actor *a, seat *s, char **words)
{
    (void)words;
    answer_status(a, grip_force(s->grip));
}

static void do_locked(actor *a, seat *s, char **words)
{
    bool locked = false;
    lk_status status = grip_is_locked(s->grip, &locked);

    (void)words;
    answer_number(a, status, locked);
}

static void do_check(actor *a, seat *s, char **words)
{
    (void)words;
    answer_number(a, LK_OK,
                  s->held > 0 && lk_hold_check(s->holds[s->held - 1]) == LK_OK);
}

static void do_set(actor *a, seat *s, char **words)
{
    answer_status(a, grip_set(s->grip, (uint64_t)number_of(words[0], 0)));
}

static void do_take(actor *a, seat *s, char **words)
{
    int64_t wait_ms = number_of(words[1], 0);
    lk_hold *hold = NULL;
    lk_status status =
        s->held == HELD_MAX
            ? LK_EINVAL
            : grip_take(s->grip, (uint64_t)number_of(words[0], 0), wait_ms,
                        (uint64_t)number_of(words[2], 0), &hold);

    status = ended(status, wait_ms);
    if (status == LK_OK && hold != NULL)
        s->holds[s->held++] = hold;
    answer_status(a, status);
}

static void do_give(actor *a, seat *s, char **words)
{
    if (s->held > 0)
        answer_status(a, lk_hold_release(s->holds[--s->held]));
    else
        answer_status(a, grip_give(s->grip, words[0]));
}

static void do_count(actor *a, seat *s, char **words)
{
    int64_t count = 0;
    lk_status status = grip_count(s->grip, &count);

    (void)words;
    answer_number(a, status, count);
}

static void do_add(actor *a, seat *s, char **words)
{
    answer_status(a, grip_add(s->grip, number_of(words[0], 0)));
}

static void do_drain(actor *a, seat *s, char **words)
{
    int64_t count = 0;
    lk_status status = grip_drain(s->grip, &count);

    (void)words;
    answer_number(a, status, count);
}

static void do_delete(actor *a, seat *s, char **words)
{
    (void)words;
    answer_status(a, grip_delete(s->grip));
}

static void do_down(actor *a, seat *s, char **words)
{
    (void)words;
    answer_status(a, grip_down(s->grip));
}

static void do_await(actor *a, seat *s, char **words)
{
    answer_status(a, grip_await(s->grip, number_of(words[0], 0)));
}

/* The write hold moves to the seat of the read lock. */
static void do_downgrade(actor *a, seat *s, char **words)
{
    seat *read = seat_find(a, "read", s->name);
    lk_status status = LK_ENOTHELD;

    (void)words;
    if (read != NULL && s->held > 0 && read->held < HELD_MAX)
        status = lk_rwlock_downgrade(s->holds[s->held - 1]);
    if (status == LK_OK)
        read->holds[read->held++] = s->holds[--s->held];
    answer_status(a, status);
}

/* kind: that of verbs that name none. more: the words behind the name. */
static const struct {
    const char *verb;
    const char *kind;
    size_t more;
    void (*run)(actor *a, seat *s, char **words);
} verbs[] = {{"lock", NULL, 2, do_lock},
             {"unlock", NULL, 0, do_unlock},
             {"force", NULL, 0, do_force},
             {"locked", NULL, 0, do_locked},
             {"check", NULL, 0, do_check},
             {"set", NULL, 1, do_set},
             {"take", NULL, 3, do_take},
             {"give", NULL, 1, do_give},
             {"count", NULL, 0, do_count},
             {"down", "latch", 0, do_down},
             {"add", NULL, 1, do_add},
             {"drain", NULL, 0, do_drain},
             {"delete", NULL, 0, do_delete},
             {"await", "latch", 1, do_await},
             {"downgrade", "write", 0, do_downgrade}};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static size_t verb_find(const char *word)
{
    size_t i = 0;

    while (i < VERBS && (word == NULL || strcmp(verbs[i].verb, word) != 0))
        i++;
    return i;
}

static void run_line(actor *a, char *line)
{
    char *words[WORDS_MAX + 1] = {NULL};
    char **next = words + 1;
    char *rest = line;
    size_t count = 0;
    size_t i;
    const char *kind;
    seat *s;

    while (count < WORDS_MAX &&
           (words[count] = strtok_r(rest, " \n", &rest)) != NULL)
        count++;
    i = verb_find(words[0]);
    if (i == VERBS) {
        answer(a, "error unsupported");
        return;
    }
    kind = verbs[i].kind != NULL ? verbs[i].kind : *next++;
    if (kind == NULL || *next == NULL ||
        count != (size_t)(next - words) + 1 + verbs[i].more) {
        answer(a, "error usage");
        return;
    }
    s = seat_find(a, kind, *next);
    if (s == NULL)
        answer(a, "error unsupported");
    else
        verbs[i].run(a, s, next + 1);
}

/* ---- actors ------------------------------------------------------------------- */

static void *actor_run(void *data)
{
    actor *a = data;
    char line[LINE_SIZE];

    while (fgets(line, sizeof(line), a->in) != NULL)
        run_line(a, line);
    seats_free(a);
    return NULL;
}

static bool actor_start(actor *a, const servers *from, const char *name)
{
    int ends[2];

    if (pipe(ends) != 0)
        return false;
    (void)snprintf(a->name, sizeof(a->name), "%s", name);
    a->from = from;
    a->in = fdopen(ends[0], "r");
    a->out = fdopen(ends[1], "w");
    if (a->in == NULL || a->out == NULL)
        return false;
    (void)setvbuf(a->out, NULL, _IOLBF, 0);
    return pthread_create(&a->thread, NULL, actor_run, a) == 0;
}

/* Found by its name, or made; NULL: there are too many. */
static actor *
actor_find(actor *actors, size_t *count, const servers *from, const char *name)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(actors[i].name, name) == 0)
            return &actors[i];
    if (*count == ACTORS_MAX || !actor_start(&actors[*count], from, name))
        return NULL;
    return &actors[(*count)++];
}

int repl_run(const servers *from)
{
    static actor actors[ACTORS_MAX];
    size_t count = 0;
    char line[LINE_SIZE];

    while (fgets(line, sizeof(line), stdin) != NULL) {
        char *rest = line;
        const char *name = strtok_r(rest, " \n", &rest);
        actor *a = name != NULL ? actor_find(actors, &count, from, name) : NULL;

        if (a == NULL || fputs(rest, a->out) < 0)
            printf("%s error no such actor\n", name != NULL ? name : "?");
    }
    /* Those who wait go on waiting: the end of the process ends them. */
    _exit(0);
}
