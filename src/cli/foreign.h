/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_FOREIGN_H
#define LK_CLI_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

/*
 * Options of consul lock, etcdctl and flock that mean nothing here, or something
 * else, and what is written here in their place.
 */
typedef struct cli_foreign {
    const char *name;  /* without dashes */
    const char *needs; /* the option that `instead` tells of; NULL: none */
    const char *instead;
} cli_foreign;

/* By the first size bytes of name, in which no dashes are: the next one behind
   before, or the first one where that is NULL. NULL: none. */
const cli_foreign *
cli_foreign_find(const char *name, size_t size, const cli_foreign *before);

/* Whether what is to be run is a line for a shell, or a word that only a shell
   knows. */
bool cli_foreign_is_for_shell(const char *program);

/* Whether an option with a value that is not understood is meant as the -l of
   etcdctl's elect. */
bool cli_foreign_is_listen(const char *command, const cli_option *option);

/* Whether --url of this command is meant as flock's -u: what it is given is no
   URL. */
bool cli_foreign_is_unlock(const char *command, const char *url);

#endif /* LK_CLI_FOREIGN_H */
