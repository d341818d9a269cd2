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
} cli_subject;

/* How the kind of a lock is said: one of these at most. */
typedef struct cli_kind_flags {
    bool fair, read, write, spin;
    uint64_t permits; /* of a semaphore; CLI_UNSAID */
} cli_kind_flags;

#define CLI_UNSAID UINT64_MAX

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

/* Zeroed is allowed. */
void cli_subject_free(cli_subject *subject);

/* As the library's functions of the same names. */
lk_status cli_subject_acquire_async(const cli_subject *subject, int64_t wait_ms,
                                    const lk_acquire_options *options,
                                    lk_acquire_cb cb, void *data);
lk_status
cli_subject_info_async(const cli_subject *subject, lk_info_cb cb, void *data);
lk_status cli_subject_release(const cli_subject *subject, lk_hold *hold);
/* ends: to be released, so that one that was revoked is had as well. */
lk_status cli_subject_import(const cli_subject *subject, const char *text,
                             bool ends, lk_hold **ret_hold);

#endif /* LK_CLI_SUBJECT_H */
