/* SPDX-License-Identifier: MIT */
#include "support/sig_script.h"

#include <stdio.h>
#include <string.h>

#include "support/table.h"

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static const char *run(script_fixture *f, const lk__signature *signature,
                       size_t key_count, const void *args)
{
    return table_run(f, signature, lk__siglock_keys, key_count, args);
}

const char *sig_acquire(script_fixture *f, const char *claim)
{
    const lk__siglock_acquire_args args = {.claim = text_of(claim),
                                           .lease = 30000};

    return run(f, &lk__siglock_acquire, LK__SIGLOCK_ACQUIRE_WHOLE, &args);
}

static const char *
end(script_fixture *f, char why, const char *claim, int64_t stone_ms)
{
    const lk__siglock_close_args args = {.why = why,
                                         .claim = text_of(claim),
                                         .has_stone = stone_ms > 0,
                                         .stone = stone_ms};

    return run(f, &lk__siglock_close, LK__SIGLOCK_CLOSE_WHOLE, &args);
}

const char *sig_release(script_fixture *f, const char *claim)
{
    return end(f, 'r', claim, 0);
}

const char *sig_leave(script_fixture *f, const char *claim, int64_t stone_ms)
{
    return end(f, 'l', claim, stone_ms);
}

const char *sig_force(script_fixture *f, const char *claim)
{
    return end(f, 'f', claim, 0);
}

const char *sig_renew(script_fixture *f, const char *claim, int64_t lease)
{
    char voided[128];
    lk__text texts[2] = {{NULL, 0}, text_of(claim)};
    const lk__siglock_renew_args args = {.lease = lease,
                                         .claims = texts,
                                         .claims_count = 2};

    (void)snprintf(voided, sizeof(voided), "-%s", claim);
    texts[0] = text_of(voided);
    return run(f, &lk__siglock_renew, 2, &args);
}

const char *sig_see(script_fixture *f)
{
    return run(f, &lk__siglock_see, LK__SIGLOCK_SEE_WHOLE, NULL);
}

const char *sig_import(script_fixture *f, const char *claim, const char *own)
{
    const lk__siglock_import_args args = {.claim = text_of(claim),
                                          .lease = 60000,
                                          .own = text_of(own)};

    return run(f, &lk__siglock_import, LK__SIGLOCK_IMPORT_WHOLE, &args);
}

const char *sig_revoke(script_fixture *f, const char *claim)
{
    const lk__siglock_revoke_args args = {.claim = text_of(claim)};

    return run(f, &lk__siglock_revoke, LK__SIGLOCK_REVOKE_WHOLE, &args);
}
