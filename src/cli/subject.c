/* SPDX-License-Identifier: MIT */

#include "cli/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
        "server began again";
    static const char *const words[] =
        {[LK_LOSS_NONE] = "it could not be renewed in time",
         [LK_LOSS_EXPIRED] = "its lease has ended",
         [LK_LOSS_UNREACHABLE] = "the server could not be reached to renew it",
         [LK_LOSS_DELETED] = deleted,
         [LK_LOSS_TAKEN] = "somebody else holds it",
         [LK_LOSS_REVOKED] = "an operator has ended it",
         [LK_LOSS_CLOSED] = "the client was shut down",
         [LK_LOSS_DENIED] = "an access rule of the server forbids to renew it",
         [LK_LOSS_STOPPED] = "the process stood still and did not renew it"};

    return words[loss];
}

cli_kind_of cli_subject_kind(const struct cli *c, cli_kind_flags *flags,
                             cli_kind_of initial)
{
    bool has_permits = flags->permits != CLI_UNSAID;
    int said = flags->fair + flags->read + flags->write + flags->spin;

    if (said > 1 || (said > 0 && has_permits))
        cli_usage(c, "one of --fair, -s, -x, --spin and -p N");
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

static lk_status add(lk_multilock *multilock, const cli_subject *member)
{
    switch (member->kind) {
    case CLI_LOCK:
    case CLI_SPIN:
        return lk_multilock_add_lock(multilock, member->lock);
    case CLI_FAIR:
        return lk_multilock_add_fairlock(multilock, member->fairlock);
    case CLI_READ:
        return lk_multilock_add_read(multilock, member->rwlock);
    case CLI_WRITE:
        return lk_multilock_add_write(multilock, member->rwlock);
    case CLI_SEMAPHORE:
    case CLI_LEADER:
        break;
    }
    return LK_ENOTSUP;
}

lk_status cli_subject_join(cli_subject *ret_subject, lk_client *client,
                           cli_kind_of kind, const char *name,
                           char *const *names, size_t count)
{
    cli_subject *s = ret_subject;
    lk_status status = lk_multilock_new(&s->multilock);

    s->kind = kind;
    s->name = name;
    s->members = calloc(count, sizeof(*s->members));
    if (s->members == NULL)
        return LK_ENOMEM;
    for (size_t i = 0; status == LK_OK && i < count; i++) {
        s->member_count = i + 1;
        status = cli_subject_new(&s->members[i], client, kind, names[i], 0);
        if (status == LK_OK)
            status = add(s->multilock, &s->members[i]);
    }
    return status;
}

size_t cli_subject_count(const cli_subject *subject)
{
    return subject->multilock != NULL ? subject->member_count : 1;
}

const cli_subject *cli_subject_member(const cli_subject *subject, size_t index)
{
    return subject->multilock != NULL ? &subject->members[index] : subject;
}

void cli_subject_fences(const cli_subject *subject, const lk_hold *hold,
                        char text[CLI_FENCES_SIZE])
{
    size_t used = 0;

    if (subject->multilock == NULL)
        (void)snprintf(text, CLI_FENCES_SIZE, "%" PRIu64, lk_hold_fence(hold));
    for (size_t i = 0; i < subject->member_count; i++)
        used +=
            (size_t)snprintf(text + used, CLI_FENCES_SIZE - used, "%s%" PRIu64,
                             i > 0 ? " " : "", lk_multilock_fence(hold, i));
}

void cli_subject_free(cli_subject *subject)
{
    lk_multilock_free(subject->multilock);
    for (size_t i = 0; i < subject->member_count; i++)
        cli_subject_free(&subject->members[i]);
    free(subject->members);
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
    if (subject->multilock != NULL)
        return lk_multilock_acquire_async(subject->multilock, wait_ms, options,
                                          cb, data);
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
                             lk_hold **ret_hold)
{
    switch (subject->kind) {
    case CLI_LOCK:
    case CLI_SPIN:
        return lk_lock_import(subject->lock, text, NULL, ret_hold);
    case CLI_FAIR:
        return lk_fairlock_import(subject->fairlock, text, NULL, ret_hold);
    case CLI_READ:
    case CLI_WRITE:
        return lk_rwlock_import(subject->rwlock, text, NULL, ret_hold);
    case CLI_SEMAPHORE:
        return lk_semaphore_import(subject->semaphore, text, NULL, ret_hold);
    case CLI_LEADER:
        return LK_ENOTSUP;
    }
    return LK_EINVAL;
}
