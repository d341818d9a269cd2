/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SERVER_ARGV_H
#define LK_TESTS_SUPPORT_SERVER_ARGV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/redis.h"
#include "support/scratch.h"
#include "support/server.h"

/* For server.c: a server, and the words that start it. */

enum { SERVER_ARGS = 200 };

struct server {
    scratch *home;
    redis *redis;
    char socket[96];
    char log[96];
    char url[128];
    char tcp_url[128];
    char port_text[8], tls_port_text[8];
    char config[96]; /* of a sentinel; "": it is none */
    char tls_cert[128], tls_key[128], tls_ca[128];
    uint16_t port, tls_port;
    int kept[4];  /* that keep its ports while it does not run; -1: none */
    char **extra; /* copies, ended by NULL */
    pid_t pid;    /* 0: not running */
    bool is_frozen;
    bool is_node; /* of a cluster */
};

/* Writes the words that start it, and NULL behind them. argv has room for
   SERVER_ARGS + 1 and borrows the strings. Returns whether all of them fitted. */
bool server_argv_make(const server *s, const char **argv);

#endif /* LK_TESTS_SUPPORT_SERVER_ARGV_H */
