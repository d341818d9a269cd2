/* SPDX-License-Identifier: MIT */

#include "cli/subject.h"

#include <string.h>

#include "cli/cli.h"

const char *cli_subject_noun(cli_kind_of kind)
{
    static const char *const nouns[] =
        {[CLI_LOCK] = "lock",        [CLI_SPIN] = "lock",
         [CLI_FAIR] = "fair lock",   [CLI_READ] = "read lock",
         [CLI_WRITE] = "write lock", [CLI_SEMAPHORE] = "semaphore",
         [CLI_LEADER] = "lead"};

    return nouns[kind];
}

const char *cli_loss_words(lk_loss loss)
{
    static const char deleted[] =
        "the server does not know it any more: its key was deleted, or the "
        "server began anew";
    static const char *const words[] =
        {[LK_LOSS_NONE] = "it could not be renewed in time",
         [LK_LOSS_EXPIRED] = "its lease has ended",
         [LK_LOSS_UNREACHABLE] = "the server could not be reached to renew it",
         [LK_LOSS_DELETED] = deleted,
         [LK_LOSS_TAKEN] = "somebody else holds it",
         [LK_LOSS_REVOKED] = "an operator has ended it",
         [LK_LOSS_CLOSED] = "the client was shut down",
         [LK_LOSS_DENIED] = "an access rule of the server forbids to renew it"};

    return words[loss];
}

cli_kind_of cli_subject_kind(const struct cli *c, cli_kind_flags *flags,
                             cli_kind_of initial)
{
    bool has_permits = flags->permits != CLI_UNSAID;
    int said = flags->fair + flags->read + flags->write + flags->spin;

    if (said > 1 || (said > 0 && has_permits))
        cli_usage(c, "one of --fair, --read, --write, --spin and --sem N");
    if (has_permits && flags->permits == 0)
        cli_usage(c, "a semaphore has 1 permit at least");
    if (has_permits)
        return CLI_SEMAPHORE;
    flags->permits = 0;
    if (flags->fair)
        return CLI_FAIR;
    if (flags->read)
        return CLI_READ;
    if (flags->write)
        return CLI_WRITE;
    return flags->spin ? CLI_SPIN : initial;
}

lk_status cli_subject_new(cli_subject *ret_subject, lk_client *client,
                          cli_kind_of kind, const char *name, uint64_t permits)
{
    const lk_lock_options spin = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    const lk_semaphore_options many = {LK_SEMAPHORE_OPTIONS_INIT,
                                       .permits = permits};

    memset(ret_subject, 0, sizeof(*ret_subject));
    ret_subject->kind = kind;
    ret_subject->name = name;
    ret_subject->count = 1;
    switch (kind) {
    case CLI_LOCK:
        return lk_lock_new(&ret_subject->lock, client, name, NULL);
    case CLI_SPIN:
        return lk_lock_new(&ret_subject->lock, client, name, &spin);
    case CLI_FAIR:
        return lk_fairlock_new(&ret_subject->fairlock, client, name, NULL);
    case CLI_READ:
    case CLI_WRITE:
        return lk_rwlock_new(&ret_subject->rwlock, client, name, NULL);
    case CLI_SEMAPHORE:
        return lk_semaphore_new(&ret_subject->semaphore, client, name, &many);
    case CLI_LEADER:
        return lk_leader_new(&ret_subject->leader, client, name, NULL);
    }
    return LK_EINVAL;
}

void cli_subject_free(cli_subject *subject)
{
    lk_lock_free(subject->lock);
    lk_fairlock_free(subject->fairlock);
    lk_rwlock_free(subject->rwlock);
    lk_semaphore_free(subject->semaphore);
    lk_leader_free(subject->leader);
    memset(subject, 0, sizeof(*subject));
}

lk_status cli_subject_acquire_async(const cli_subject *subject, int64_t wait_ms,
                                    const lk_acquire_options *options,
                                    lk_acquire_cb cb, void *data)
{
    switch (subject->kind) {
    case CLI_LOCK:
    case CLI_SPIN:
        return lk_lock_acquire_async(subject->lock, wait_ms, options, cb, data);
    case CLI_FAIR:
        return lk_fairlock_acquire_async(subject->fairlock, wait_ms, options,
                                         cb, data);
    case CLI_READ:
        return lk_rwlock_acquire_read_async(subject->rwlock, wait_ms, options,
                                            cb, data);
    case CLI_WRITE:
        return lk_rwlock_acquire_write_async(subject->rwlock, wait_ms, options,
                                             cb, data);
    case CLI_SEMAPHORE:
        return lk_semaphore_acquire_async(subject->semaphore, subject->count,
                                          wait_ms, options, cb, data);
    case CLI_LEADER:
        return lk_leader_campaign_async(subject->leader, wait_ms, options, cb,
                                        data);
    }
    return LK_EINVAL;
}

lk_status
cli_subject_info_async(const cli_subject *subject, lk_info_cb cb, void *data)
{
    switch (subject->kind) {
    case CLI_LOCK:
    case CLI_SPIN:
        return lk_lock_info_async(subject->lock, cb, data);
    case CLI_FAIR:
        return lk_fairlock_info_async(subject->fairlock, cb, data);
    case CLI_READ:
    case CLI_WRITE:
        return lk_rwlock_info_async(subject->rwlock, cb, data);
    case CLI_SEMAPHORE:
        return lk_semaphore_info_async(subject->semaphore, cb, data);
    case CLI_LEADER:
        return lk_leader_get_async(subject->leader, cb, data);
    }
    return LK_EINVAL;
}

/* Those who observe a leader are told. */
lk_status cli_subject_release(const cli_subject *subject, lk_hold *hold)
{
    return subject->kind == CLI_LEADER ? lk_leader_resign(subject->leader, hold)
                                       : lk_hold_release(hold);
}

lk_status cli_subject_import(const cli_subject *subject, const char *text,
                             bool ends, lk_hold **ret_hold)
{
    const lk_acquire_options borrow = {LK_ACQUIRE_OPTIONS_INIT,
                                       .borrow = ends ? LK_BORROW_TO_RELEASE
                                                      : LK_BORROW};

    switch (subject->kind) {
    case CLI_LOCK:
    case CLI_SPIN:
        return lk_lock_import(subject->lock, text, &borrow, ret_hold);
    case CLI_FAIR:
        return lk_fairlock_import(subject->fairlock, text, &borrow, ret_hold);
    case CLI_READ:
    case CLI_WRITE:
        return lk_rwlock_import(subject->rwlock, text, &borrow, ret_hold);
    case CLI_SEMAPHORE:
        return lk_semaphore_import(subject->semaphore, text, &borrow, ret_hold);
    case CLI_LEADER:
        return LK_ENOTSUP;
    }
    return LK_EINVAL;
}
