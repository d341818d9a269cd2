/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_BARE_H
#define LK_BENCH_BARE_H

#include <stdint.h>

/*
 * What others do for the same purpose, in plain hiredis, one thread each: some
 * is no lock to use, but a limit of what a server can do.
 */
typedef enum bare_kind {
    BARE_HASH,     /* a hash with a count for its owner, by two scripts */
    BARE_LIST,     /* BLPOP of the one token, and LPUSH */
    BARE_EIGHT,    /* the same with eight tokens */
    BARE_RING,     /* each that gets a message sends one to the next */
    BARE_REDISSON, /* the lock, as Redisson speaks with the server */
    BARE_MIX       /* its read-write lock; one in twenty writes */
} bare_kind;

typedef struct bare bare;

/* The process index of count that share it. */
bare *bare_open(bare_kind kind, unsigned index, unsigned count);
void bare_close(bare *b);

/* Takes one and gives it back. */
void bare_once(bare *b);

/* What it has sent so far. */
uint64_t bare_commands(const bare *b);

#endif /* LK_BENCH_BARE_H */
