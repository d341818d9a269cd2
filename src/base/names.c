/* SPDX-License-Identifier: MIT */

/* Names, the keys made from them, and the bounds of times. */

#include "base/names.h"

#include <latchkey/client.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const char own[] = "latchkey:";

static bool is_own(const char *text)
{
    return strncmp(text, own, sizeof(own) - 1) == 0;
}

/* A lock called as another's record or queue would be written into it. */
lk_status lk__name_check_own(const char *name)
{
    if (!is_own(name))
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "a name may not begin with \"%s\": the keys "
                    "that do are Latchkey's own",
                    own);
}

/*
 * Redis hashes what stands between the first '{' of a key and the first '}'
 * after it, unless there is no such pair or nothing between; then the whole
 * key. So `a{b` and `{}a` are hashed whole, and so is every key made from
 * them, each to a slot of its own. `a}b` is hashed whole too, but wrapped it
 * is `{a}b}`, of which only `a` counts.
 */
lk_status lk__name_check_slot(const char *name)
{
    const char *open;
    const char *close;
    size_t size;

    if (name == NULL)
        return lk__fail(LK_EINVAL, "the name is NULL");
    size = strnlen(name, LK__NAME_MAX + 1);
    if (size == 0 || size > LK__NAME_MAX)
        return lk__fail(LK_EINVAL, "the name has to have 1 to %d bytes",
                        LK__NAME_MAX);

    open = strchr(name, '{');
    if (open == NULL && strchr(name, '}') != NULL)
        return lk__fail(LK_EINVAL, "the name has a '}' but no '{'");
    if (open == NULL)
        return LK_OK;

    close = strchr(open, '}');
    if (close == NULL)
        return lk__fail(LK_EINVAL, "the name has a '{' with no '}' after it");
    if (close == open + 1)
        return lk__fail(LK_EINVAL, "the first {} in the name is empty");
    return LK_OK;
}

lk_status lk__name_check(const char *name)
{
    lk_status status = lk__name_check_slot(name);

    return status != LK_OK ? status : lk__name_check_own(name);
}

lk_status lk__owner_check(const char *owner)
{
    if (owner == NULL || owner[0] == '\0')
        return lk__fail(LK_EINVAL, "the owner is NULL or empty");
    return LK_OK;
}

/* Joins five pieces, some of them "". Free with lk__free(). */
static char *join(const char *const pieces[5])
{
    size_t size = 0;
    size_t at = 0;
    char *joined;

    for (int i = 0; i < 5; i++)
        size += strlen(pieces[i]);
    joined = lk__alloc(size + 1);
    if (joined == NULL)
        return NULL;

    for (int i = 0; i < 5; i++) {
        size = strlen(pieces[i]);
        memcpy(joined + at, pieces[i], size);
        at += size;
    }
    return joined;
}

static bool is_wrapped(const char *name)
{
    return strchr(name, '{') == NULL;
}

char *lk__name_prefixed(const char *prefix, const char *name)
{
    const char *colon = is_own(prefix) ? "::" : ":";

    if (is_wrapped(name))
        return join((const char *const[]){prefix, ":{", name, "}", ""});
    return join((const char *const[]){prefix, colon, name, "", ""});
}

char *lk__name_suffixed(const char *name, const char *suffix)
{
    bool wrapped = is_wrapped(name);

    return join((const char *const[]){wrapped ? "{" : "", name,
                                      wrapped ? "}" : "", ":", suffix});
}

char *lk__name_form(const char *form, const char *name)
{
    size_t size = strlen(form);
    char *prefix;
    char *made;

    if (size == 0)
        return lk__strdup(name);
    if (form[0] == ':')
        return lk__name_suffixed(name, form + 1);
    if (form[size - 1] != '}' && form[size - 1] != '*')
        return lk__name_prefixed(form, name);
    prefix = lk__strndup(form, size - 1);
    if (prefix == NULL)
        return NULL;
    made =
        join((const char *const[]){prefix, name,
                                   form[size - 1] == '}' ? "}" : "", "", ""});
    lk__free(prefix);
    return made;
}

void lk__name_claim_key(char key[LK__CLAIM_KEY_SIZE], const char *form,
                        const char *name, const char *claim)
{
    snprintf(key, LK__CLAIM_KEY_SIZE,
             is_wrapped(name) ? "{%s}:%s%s" : "%s:%s%s", name, claim, form);
}

lk_status lk__wait_check(int64_t wait_ms)
{
    /* As unsigned, what is negative is beyond the limit. */
    if (wait_ms == LK_FOREVER || (uint64_t)wait_ms <= LK__TIME_MAX_MS)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "wait_ms is %" PRId64
                    "; it has to be LK_FOREVER or 0 to %" PRIu64,
                    wait_ms, LK__TIME_MAX_MS);
}

lk_status lk__lease_check(uint64_t lease_ms)
{
    if (lease_ms >= 1 && lease_ms <= LK__TIME_MAX_MS)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "a lease of %" PRIu64
                    " ms was given; it has to be 1 to %" PRIu64 " ms",
                    lease_ms, LK__TIME_MAX_MS);
}
