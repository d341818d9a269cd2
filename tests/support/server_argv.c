/* SPDX-License-Identifier: MIT */
#include "support/server_argv.h"

#include <stdlib.h>

#include "support/login.h"
#include "support/paths.h"

/* Appends a list that ends with NULL. False: it does not fit. */
static bool argv_add(const char **argv, size_t *n, const char *const *more)
{
    for (; *more != NULL; more++) {
        if (*n == SERVER_ARGS)
            return false;
        argv[(*n)++] = *more;
    }
    return true;
}

static const char *program(void)
{
    const char *other = getenv("LK_TEST_SERVER");

    return other != NULL ? other : REDIS_SERVER;
}

static bool argv_add_node(const server *s, const char **argv, size_t *n)
{
    static const char *const node[] = {"--cluster-enabled", "yes", NULL};
    static const char *const tls[] = {"--tls-cluster", "yes",
                                      "--tls-replication", "yes", NULL};

    if (!s->is_node)
        return true;
    return argv_add(argv, n, node) &&
           (s->tls_port == 0 || argv_add(argv, n, tls));
}

static bool argv_add_tls(const server *s, const char **argv, size_t *n)
{
    const char *const tls[] = {"--tls-port",
                               s->tls_port_text,
                               "--tls-cert-file",
                               s->tls_cert,
                               "--tls-key-file",
                               s->tls_key,
                               "--tls-ca-cert-file",
                               s->tls_ca,
                               "--tls-auth-clients",
                               "no",
                               NULL};

    return s->tls_port == 0 || argv_add(argv, n, tls);
}

/* What a server and a sentinel are told alike: where they listen and write. */
static bool argv_add_place(const server *s, const char **argv, size_t *n)
{
    const char *const place[] =
        {"--port",    s->port_text,          "--bind",
         "127.0.0.1", "--unixsocket",        s->socket,
         "--dir",     scratch_path(s->home), "--logfile",
         s->log,      "--daemonize",         "no",
         NULL};

    return argv_add(argv, n, place) && argv_add_tls(s, argv, n);
}

static bool argv_add_sentinel(const server *s, const char **argv, size_t *n)
{
    const char *const first[] = {program(), s->config, "--sentinel", NULL};
    static const char *const tls[] = {"--tls-replication", "yes", NULL};

    return argv_add(argv, n, first) && argv_add_place(s, argv, n) &&
           (s->tls_port == 0 || argv_add(argv, n, tls));
}

static bool argv_add_server(const server *s, const char **argv, size_t *n)
{
    const char *const first[] = {program(), NULL};
    static const char *const more[] =
        {"--unixsocketperm",   "700",        "--save", "", "--appendonly", "no",
         "--maxmemory-policy", "noeviction", NULL};

    return argv_add(argv, n, first) && argv_add_place(s, argv, n) &&
           argv_add(argv, n, more) && argv_add(argv, n, login_arguments()) &&
           argv_add_node(s, argv, n) &&
           argv_add(argv, n, (const char *const *)s->extra);
}

bool server_argv_make(const server *s, const char **argv)
{
    size_t n = 0;
    bool fits = s->config[0] != '\0' ? argv_add_sentinel(s, argv, &n)
                                     : argv_add_server(s, argv, &n);

    argv[n] = NULL;
    return fits;
}
