/* SPDX-License-Identifier: MIT */
#ifndef LK_STRIPES_FOLD_H
#define LK_STRIPES_FOLD_H

#include <stdint.h>

/*
 * The stripe of a key: 64-bit FNV-1a of its bytes, its upper half folded onto
 * the lower one, modulo the count. Never to be changed: every process, of
 * whatever release or language, has to come to the same one. The fold is there
 * because the lowest bits of FNV-1a depend on the lowest bits of the key alone.
 */
uint64_t lk__stripes_fold(const char *key, uint64_t count);

#endif /* LK_STRIPES_FOLD_H */
