/* SPDX-License-Identifier: MIT */

/*
 * What a client has of TLS. All that OpenSSL calls its context is made here,
 * once, before the first stream; of what changes later there are the session to
 * resume and the facts, under a mutex.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "world/tls_openssl.h"
#include "world/world.h"

/* ---- servers ------------------------------------------------------------- */

/* NULL: not known. Under the mutex. */
static lk__tls_peer *peer_find(lk__tls *tls, const char *host, uint16_t port)
{
    for (size_t i = 0; i < LK__TLS_PEERS; i++) {
        if (tls->peers[i].port == port && strcmp(tls->peers[i].host, host) == 0)
            return &tls->peers[i];
    }
    return NULL;
}

/* The same; one that is new takes the place of the oldest. */
static lk__tls_peer *peer_of(const lk__tls_session *session)
{
    lk__tls *tls = session->tls;
    lk__tls_peer *peer = peer_find(tls, session->host, session->port);

    if (peer != NULL)
        return peer;
    peer = &tls->peers[tls->next_peer];
    tls->next_peer = (tls->next_peer + 1) % LK__TLS_PEERS;
    lk__openssl.SSL_SESSION_free(peer->last);
    *peer = (lk__tls_peer){.port = session->port};
    (void)snprintf(peer->host, sizeof(peer->host), "%s", session->host);
    return peer;
}

/* ---- sessions ------------------------------------------------------------ */

/* The server gave a ticket. True: it is kept. */
static int on_session(SSL *ssl, SSL_SESSION *ticket)
{
    const lk__tls_session *session = lk__openssl.SSL_get_ex_data(ssl, 0);
    lk__tls *tls = session->tls;
    lk__tls_peer *peer;
    SSL_SESSION *before;

    (void)pthread_mutex_lock(&tls->mutex);
    peer = peer_of(session);
    before = peer->last;
    peer->last = ticket;
    (void)pthread_mutex_unlock(&tls->mutex);
    lk__openssl.SSL_SESSION_free(before);
    return 1;
}

void lk__tls_resume(lk__tls_session *session)
{
    lk__tls *tls = session->tls;
    const lk__tls_peer *peer;

    (void)pthread_mutex_lock(&tls->mutex);
    peer = peer_find(tls, session->host, session->port);
    if (peer != NULL && peer->last != NULL)
        session->resumes =
            lk__openssl.SSL_set_session(session->ssl, peer->last) == 1;
    (void)pthread_mutex_unlock(&tls->mutex);
}

/* ---- facts --------------------------------------------------------------- */

/* When the server's certificate ends; 0: not known. */
static int64_t certificate_end(const SSL *ssl)
{
    X509 *certificate = lk__openssl.SSL_get1_peer_certificate(ssl);
    struct tm end;
    int64_t at = 0;

    if (certificate == NULL)
        return 0;
    if (lk__openssl.ASN1_TIME_to_tm(lk__openssl.X509_get0_notAfter(certificate),
                                    &end))
        at = timegm(&end);
    lk__openssl.X509_free(certificate);
    return at;
}

static void facts_take(lk__tls_peer *peer, const SSL *ssl)
{
    const SSL_CIPHER *cipher = lk__openssl.SSL_get_current_cipher(ssl);
    lk__tls_facts *facts = &peer->facts;

    (void)snprintf(facts->version, sizeof(facts->version), "%s",
                   lk__openssl.SSL_get_version(ssl));
    (void)snprintf(facts->cipher, sizeof(facts->cipher), "%s",
                   lk__openssl.SSL_CIPHER_get_name(cipher));
    facts->ends_at = certificate_end(ssl);
    facts->resumed = lk__openssl.SSL_session_reused(ssl) == 1;
    peer->has_facts = true;
}

void lk__tls_note(lk__tls_session *session, bool succeeded)
{
    lk__tls *tls = session->tls;
    lk__tls_peer *peer;

    (void)pthread_mutex_lock(&tls->mutex);
    peer = peer_of(session);
    if (succeeded) {
        facts_take(peer, session->ssl);
    } else {
        lk__openssl.SSL_SESSION_free(peer->last);
        peer->last = NULL;
    }
    (void)pthread_mutex_unlock(&tls->mutex);
}

bool lk__tls_facts_get(lk__tls *tls, const char *host, uint16_t port,
                       lk__tls_facts *ret_facts)
{
    const lk__tls_peer *peer;
    bool known;

    (void)pthread_mutex_lock(&tls->mutex);
    peer = peer_find(tls, host, port);
    known = peer != NULL && peer->has_facts;
    if (known)
        *ret_facts = peer->facts;
    (void)pthread_mutex_unlock(&tls->mutex);
    return known;
}

/* ---- files --------------------------------------------------------------- */

/* OpenSSL would ask the terminal for the password of a key. */
static int no_password(char *text, int size, int writes, void *data)
{
    (void)writes;
    (void)data;
    if (size > 0)
        text[0] = '\0';
    return -1;
}

/* What the system says says more than OpenSSL's words. */
static lk_status refuse(const char *key, const char *path, const char *what)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return lk__fail(LK_EINVAL, "%s: %.100s: %s", key, path,
                        strerror(errno));
    (void)close(fd);
    return lk__fail(LK_EINVAL, "%s: %.100s: %s (%s)", key, path, what,
                    lk__tls_reason());
}

static lk_status load_trust(SSL_CTX *context, const lk__tls_wishes *wishes)
{
    if (wishes->ca_file != NULL &&
        !lk__openssl.SSL_CTX_load_verify_file(context, wishes->ca_file))
        return refuse("tls_ca_file", wishes->ca_file,
                      "holds no certificate in the PEM form");
    if (wishes->ca_dir != NULL && access(wishes->ca_dir, R_OK | X_OK) != 0)
        return lk__fail(LK_EINVAL, "tls_ca_dir: %.100s: %s", wishes->ca_dir,
                        strerror(errno));
    if (wishes->ca_dir != NULL &&
        !lk__openssl.SSL_CTX_load_verify_dir(context, wishes->ca_dir))
        return refuse("tls_ca_dir", wishes->ca_dir, "cannot be used");
    if (wishes->ca_file == NULL && wishes->ca_dir == NULL &&
        wishes->verify != LK_TLS_NONE)
        (void)lk__openssl.SSL_CTX_set_default_verify_paths(context);
    return LK_OK;
}

static lk_status load_own(SSL_CTX *context, const lk__tls_wishes *wishes)
{
    const char *key_file =
        wishes->key_file != NULL ? wishes->key_file : wishes->cert_file;

    if (wishes->cert_file == NULL && wishes->key_file != NULL)
        return lk__fail(LK_EINVAL, "tls_key_file needs tls_cert_file");
    if (wishes->cert_file == NULL)
        return LK_OK;
    lk__openssl.SSL_CTX_set_default_passwd_cb(context, no_password);
    if (lk__openssl.SSL_CTX_use_certificate_chain_file(context,
                                                       wishes->cert_file) != 1)
        return refuse("tls_cert_file", wishes->cert_file,
                      "holds no certificate in the PEM form");
    if (lk__openssl.SSL_CTX_use_PrivateKey_file(context, key_file,
                                                SSL_FILETYPE_PEM) != 1)
        return refuse("tls_key_file", key_file,
                      "holds no private key in the PEM form without a password "
                      "that fits the certificate");
    return LK_OK;
}

/* ---- life ---------------------------------------------------------------- */

/* OpenSSL takes ".example" for any name below it. */
lk_status lk__tls_check_name(const char *name)
{
    size_t size = strcspn(name, "%");

    if (size == 0 || name[0] == '.' || size >= LK__TLS_NAME)
        return lk__fail(LK_EINVAL,
                        "for TLS, '%.100s' is not the name or address of a "
                        "host",
                        name);
    return LK_OK;
}

static void context_tune(lk__tls *tls)
{
    SSL_CTX *context = tls->context;

    (void)lk__openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION,
                                   TLS1_2_VERSION, NULL);
    (void)lk__openssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE,
                                   SSL_SESS_CACHE_CLIENT |
                                       SSL_SESS_CACHE_NO_INTERNAL,
                                   NULL);
    (void)lk__openssl.SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION |
                                                       SSL_OP_NO_COMPRESSION);
    lk__openssl.SSL_CTX_sess_set_new_cb(context, on_session);
    lk__openssl.SSL_CTX_set_verify(context,
                                   tls->verify == LK_TLS_NONE ? SSL_VERIFY_NONE
                                                              : SSL_VERIFY_PEER,
                                   NULL);
}

static bool method_make(lk__tls *tls)
{
    tls->method = lk__openssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "latchkey");
    return tls->method != NULL &&
           lk__openssl.BIO_meth_set_read(tls->method, lk__tls_bio_read) &&
           lk__openssl.BIO_meth_set_write(tls->method, lk__tls_bio_write) &&
           lk__openssl.BIO_meth_set_ctrl(tls->method, lk__tls_bio_ctrl);
}

static lk_status tls_fill(lk__tls *tls, const lk__tls_wishes *wishes)
{
    lk_status status;

    tls->context = lk__openssl.SSL_CTX_new(lk__openssl.TLS_client_method());
    if (tls->context == NULL || !method_make(tls))
        return lk__fail(LK_ENOMEM, "out of memory");
    if (wishes->server_name != NULL) {
        status = lk__tls_check_name(wishes->server_name);
        tls->name = lk__strdup(wishes->server_name);
        if (status == LK_OK && tls->name == NULL)
            status = lk__fail(LK_ENOMEM, "out of memory");
        if (status != LK_OK)
            return status;
    }
    context_tune(tls);
    status = load_trust(tls->context, wishes);
    return status == LK_OK ? load_own(tls->context, wishes) : status;
}

lk_status lk__tls_new(lk__tls **ret_tls, const lk__tls_wishes *wishes)
{
    const char *trouble = lk__tls_load();
    lk__tls *tls;
    lk_status status;

    if (trouble != NULL)
        return lk__fail(LK_ENOTSUP, "the URL asks for TLS: %s", trouble);
    tls = lk__alloc(sizeof(*tls));
    if (tls == NULL)
        return lk__fail(LK_ENOMEM, "out of memory");
    (void)pthread_mutex_init(&tls->mutex, NULL);
    tls->verify = wishes->verify;
    tls->generation = lk__fork_generation();
    (void)lk__openssl.ERR_set_mark();
    status = tls_fill(tls, wishes);
    (void)lk__openssl.ERR_pop_to_mark();
    if (status == LK_OK)
        *ret_tls = tls;
    else
        lk__tls_free(tls);
    return status;
}

void lk__tls_free(lk__tls *tls)
{
    /* In a child another thread may have been anywhere within OpenSSL. */
    if (tls == NULL || tls->generation != lk__fork_generation())
        return;
    for (size_t i = 0; i < LK__TLS_PEERS; i++)
        lk__openssl.SSL_SESSION_free(tls->peers[i].last);
    lk__openssl.SSL_CTX_free(tls->context);
    lk__openssl.BIO_meth_free(tls->method);
    (void)pthread_mutex_destroy(&tls->mutex);
    lk__free(tls->name);
    lk__free(tls);
}
