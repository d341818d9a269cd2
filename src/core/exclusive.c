/* SPDX-License-Identifier: MIT */

/* Redisson's hash `N` with one field, the owner's, and what Latchkey's clients
   need of each other beside it. */

#include "core/exclusive.h"

#include "core/protocol.h"
#include "core/script.h"

extern const lk__script lk__script_lock_acquire;
extern const lk__script lk__script_fairlock_acquire;
extern const lk__script lk__script_lock_recheck;
extern const lk__script lk__script_lock_touch;
extern const lk__script lk__script_lock_confirm;
extern const lk__script lk__script_lock_renew;
extern const lk__script lk__script_lock_release;
extern const lk__script lk__script_lock_leave;
extern const lk__script lk__script_lock_pass;
extern const lk__script lk__script_lock_force;
extern const lk__script lk__script_lock_revoke;
extern const lk__script lk__script_lock_import;
extern const lk__script lk__script_lock_info;
extern const lk__script lk__script_lock_forget;

static const char *guard(const lk__claim *claim)
{
    (void)claim;
    return "";
}

/* The last two keys are read only: Redisson's fair queue, and who spins. */
#define LOCK_FAMILY                                                            \
    .family = "lock", .protocol = &lk__protocol_first,                         \
    .meet = lk__wait_reenter, .guard = guard, .key_count = 9,                  \
    .keys = {"",                                                               \
             "latchkey:state",                                                 \
             "latchkey:queue",                                                 \
             "latchkey:tickets",                                               \
             "latchkey:skipped",                                               \
             "redisson_lock_token",                                            \
             "latchkey:void",                                                  \
             "redisson_lock_queue",                                            \
             "latchkey:spin"},                                                 \
    .channel = "redisson_lock__channel", .renew_key_count = 2,                 \
    .renew_keys = {LK__KEY_NAME, LK__KEY_STATE},                               \
    .recheck = &lk__script_lock_recheck, .touch = &lk__script_lock_touch,      \
    .confirm = &lk__script_lock_confirm, .renew = &lk__script_lock_renew,      \
    .release = &lk__script_lock_release, .leave = &lk__script_lock_leave,      \
    .pass = &lk__script_lock_pass, .force = &lk__script_lock_force,            \
    .revoke = &lk__script_lock_revoke, .info = &lk__script_lock_info,          \
    .forget = &lk__script_lock_forget, .import = &lk__script_lock_import

const lk__kind lk__kind_lock = {LOCK_FAMILY, .word = "lock", .passes = true,
                                .acquire = &lk__script_lock_acquire};

const lk__kind lk__kind_fairlock = {LOCK_FAMILY, .word = "fairlock",
                                    .acquire = &lk__script_fairlock_acquire};
