/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SUBJECT_H
#define LK_CLI_SUBJECT_H

#include <latchkey/latchkey.h>

/*
 * Something to hold, of whatever primitive: what the commands that acquire
 * have to know of it.
 */

struct cli;

typedef enum cli_kind_of {
    CLI_LOCK,
    CLI_SPIN, /* the same lock, waited for without a queue */
    CLI_FAIR,
    CLI_READ,
    CLI_WRITE,
    CLI_SEMAPHORE,
    CLI_LEADER
} cli_kind_of;

typedef struct cli_subject {
    cli_kind_of kind;
    const char *name; /* borrowed */
    uint64_t count;   /* permits that one hold takes */
    lk_lock *lock;    /* of these, the one of its kind */
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_leader *leader;
    lk_multilock
        *multilock; /* of several names, which members are; else NULL */
    struct cli_subject *members; /* owned */
    size_t member_count;
} cli_subject;

/* How many names may be held as one. */
enum { CLI_NAMES_MAX = 16 };

/* The fences of a hold, one for each name, with blanks between them. */
enum { CLI_FENCES_SIZE = CLI_NAMES_MAX * 21 };

/* How the kind of a lock is said: one of these at most. */
typedef struct cli_kind_flags {
    bool fair, read, write, spin;
    uint64_t permits; /* of a semaphore; CLI_UNSAID */
} cli_kind_flags;

#define CLI_UNSAID UINT64_MAX

/* The options that say it, flock's own among them, and the words of before. AT
   gives the place of a field of what the command's options are read into. */
#define CLI_KIND_OPTIONS(AT)                                                    \
    {                                                                           \
        CLI_FLAG, 0, "fair", AT(said.fair), NULL, "in order without exception", \
        0},                                                                     \
        {CLI_FLAG, 's',                                                         \
         "shared", AT(said.read),                                               \
         NULL,     "a read-write lock: beside other readers",                   \
         0},                                                                    \
        {CLI_FLAG,                                                              \
         'x',                                                                   \
         "exclusive",                                                           \
         AT(said.write),                                                        \
         NULL,                                                                  \
         "a read-write lock: alone",                                            \
         0},                                                                    \
        {CLI_FLAG, 'e', NULL, AT(said.write), NULL, NULL, 0},                   \
        {CLI_REFUSED, 0, "read", 0, NULL, "--read is -s, --shared", 0},         \
    {                                                                           \
        CLI_REFUSED, 0, "write", 0, NULL, "--write is -x, --exclusive", 0       \
    }

/* How it is waited for. */
#define CLI_WAIT_OPTIONS(AT)                                                   \
    {CLI_FLAG, 'n', "nonblock", AT(is_try), NULL, "do not wait", 0},           \
        {CLI_TIME, 'w', "wait", AT(wait_ms), "TIME", "wait for TIME at most",  \
         0},                                                                   \
        {CLI_TEXT, 'y',    "why",                                              \
         AT(why),  "TEXT", "shown to whoever looks at NAME",                   \
         0},                                                                   \
    {                                                                          \
        CLI_COUNT, 'E', "conflict-exit-code", AT(busy_code), "CODE",           \
            "exit code if it is not obtained; 75", 0                           \
    }

/*
 * The kind that was said, else initial; permits that were not said become 0.
 * What is wrong is said, and ends the tool.
 */
cli_kind_of cli_subject_kind(const struct cli *c, cli_kind_flags *flags,
                             cli_kind_of initial);

/* Why a hold was lost: static words. */
const char *cli_loss_words(lk_loss loss);

/* "lock", "fair lock", ...: static words. */
const char *cli_subject_noun(cli_kind_of kind);

/*
 * Makes the handle. permits: of a semaphore, 0 for what it was made with.
 * Talks to nobody.
 */
lk_status cli_subject_new(cli_subject *ret_subject, lk_client *client,
                          cli_kind_of kind, const char *name, uint64_t permits);

/*
 * The same of several names, all of which are held or none: locks, fair locks, the
 * one or the other side of read-write locks. name: what all of them are called
 * together. They are waited for in the order of their names, the same in every
 * process, so that no two commands wait for each other.
 */
lk_status cli_subject_join(cli_subject *ret_subject, lk_client *client,
                           cli_kind_of kind, const char *name,
                           char *const *names, size_t count);

/* One of the names; of a single one itself. index: below cli_subject_count(). */
const cli_subject *cli_subject_member(const cli_subject *subject, size_t index);
size_t cli_subject_count(const cli_subject *subject);

void cli_subject_fences(const cli_subject *subject, const lk_hold *hold,
                        char text[CLI_FENCES_SIZE]);

/* Zeroed is allowed. */
void cli_subject_free(cli_subject *subject);

/* As the library's functions of the same names. */
lk_status cli_subject_acquire_async(const cli_subject *subject, int64_t wait_ms,
                                    const lk_acquire_options *options,
                                    lk_acquire_cb cb, void *data);
lk_status
cli_subject_info_async(const cli_subject *subject, lk_info_cb cb, void *data);
lk_status cli_subject_release(const cli_subject *subject, lk_hold *hold);
lk_status cli_subject_import(const cli_subject *subject, const char *text,
                             lk_hold **ret_hold);

#endif /* LK_CLI_SUBJECT_H */
