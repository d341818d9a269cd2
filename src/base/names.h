/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_NAMES_H
#define LK_BASE_NAMES_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of locks and of the keys and channels made from them, and the checks
 * of times that all primitives share.
 *
 * A name without a brace is wrapped when a key is made from it, `prefix:{N}`,
 * so that Redis Cluster keeps both in one slot. A name that holds a '{' stands
 * as it is, `prefix:N`: then its own tag does that.
 *
 * In Redisson's keys `n` and `{n}` are the same so. Where the prefix is the
 * library's own, a name that stands as it is has two colons before it,
 * `latchkey:void::{n}`: what is wrapped begins with a brace, so no key is
 * shared by two names.
 */

enum { LK__NAME_MAX = 512, LK__KEY_SIZE = LK__NAME_MAX + 64 };

/* Digits of a client's id, and of the number behind it in the id of a claim. Both are
   as many in each: a claim's id has a fixed width, and no other library's has it. */
enum { LK__CLIENT_ID_SIZE = 32, LK__CLAIM_DIGITS = 16 };

/* The id of a claim, and of whatever else a client numbers so: its own id, a colon and
   the number, LK__CLAIM_DIGITS long, with a NUL. */
enum { LK__NUMBERED_SIZE = LK__CLIENT_ID_SIZE + 1 + LK__CLAIM_DIGITS + 1 };
void lk__numbered_write(char ret[LK__NUMBERED_SIZE], const char *client,
                        uint64_t number);

/* The number of such an id of this client; 0: it is none. */
uint64_t lk__numbered_read(const char *id, const char *client);

/* What the library's own keys begin with. */
#define LK__KEYS_OWN "latchkey:"

/*
 * Tells whether every key made from the name lies in the name's own slot: 1
 * to LK__NAME_MAX bytes, and either no brace at all, or, as Redis looks for a
 * tag, a first '{' with a '}' somewhere after it and at least one byte between
 * it and the next '}'. LK_EINVAL with words otherwise, also for NULL.
 */
lk_status lk__name_check_slot(const char *name);

/* LK_OK unless the name begins as the library's own keys do, and might be one
   of them where it is a key as it is. LK_EINVAL with words. */
lk_status lk__name_check_own(const char *name);

/* Both: for what a caller calls something by. */
lk_status lk__name_check(const char *name);

/* LK_OK for an owner as lk_party has it; else, as for NULL or "", LK_EINVAL with
   words. */
lk_status lk__owner_check(const char *owner);

/*
 * A key or channel is said by its form, in a table of scripts and in C alike.
 * What comes of it for a name `n`, and for one with a tag, `{n}`:
 *
 *   N          n                   {n}
 *   :r         latchkey:{n}:r      latchkey::{n}:r     a key of the library's
 *   {N}:c      {n}:c               {n}:c
 *   a          a:{n}               a:{n}
 *   latchkey:a latchkey:a:{n}      latchkey:a::{n}
 *   a:*        a:n                 a:{n}               in the name's slot only
 *                                                      if that has a tag
 *   a{*}       a{n}                a{{n}}              the same
 *   <claim>:c  {n}:<claim>:c       {n}:<claim>:c       one of each claim
 */

/* Writes the key of a form, not of a claim's, with a NUL behind it, into size
   bytes: LK__KEY_SIZE hold any. Returns its length, or that which it would have. */
size_t
lk__key_write(const char *form, const char *name, char *ret, size_t size);

/* The same; free with lk__free(). NULL: no memory. */
char *lk__key_make(const char *form, const char *name);

/* The other way round, for a form that begins with ':' or "{N}": leaves of the key,
   of *size bytes, what is the name. False: it is no key of this form, and is left
   as it is. */
bool lk__key_read(const char *form, const char **key, size_t *size);

enum { LK__CLAIM_KEY_SIZE = LK__NAME_MAX + 128 };

bool lk__key_is_of_claim(const char *form);

/* Writes the key of one claim by such a form. */
void lk__key_write_of_claim(char key[LK__CLAIM_KEY_SIZE], const char *form,
                            const char *name, const char *claim);

/* Ten years: more than any wait or lease needs, and far from any overflow. */
#define LK__TIME_MAX_MS UINT64_C(315576000000)

/* LK_OK for LK_FOREVER and 0 .. LK__TIME_MAX_MS; else LK_EINVAL with words. */
lk_status lk__wait_check(int64_t wait_ms);

/* LK_OK for 1 .. LK__TIME_MAX_MS; else LK_EINVAL with words. */
lk_status lk__lease_check(uint64_t lease_ms);

#endif /* LK_BASE_NAMES_H */
