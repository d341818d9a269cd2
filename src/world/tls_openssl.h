/* SPDX-License-Identifier: MIT */
#ifndef LK_WORLD_TLS_OPENSSL_H
#define LK_WORLD_TLS_OPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>

#include "base/resp.h"
#include "world/tls.h"

/*
 * The inside of TLS with OpenSSL: tls_load.c loads it, tls_client.c has what is
 * a client's, tls_session.c what is a stream's, tls_words.c the errors.
 */

#define LK__TLS_CALLS(X)                                                       \
    X(ASN1_TIME_to_tm)                                                         \
    X(BIO_clear_flags)                                                         \
    X(BIO_free)                                                                \
    X(BIO_get_data)                                                            \
    X(BIO_meth_free)                                                           \
    X(BIO_meth_new)                                                            \
    X(BIO_meth_set_ctrl)                                                       \
    X(BIO_meth_set_read)                                                       \
    X(BIO_meth_set_write)                                                      \
    X(BIO_new)                                                                 \
    X(BIO_set_data)                                                            \
    X(BIO_set_flags)                                                           \
    X(BIO_set_init)                                                            \
    X(ERR_peek_last_error)                                                     \
    X(ERR_pop_to_mark)                                                         \
    X(ERR_reason_error_string)                                                 \
    X(ERR_set_mark)                                                            \
    X(OPENSSL_init_crypto)                                                     \
    X(SSL_CIPHER_get_name)                                                     \
    X(SSL_CTX_check_private_key)                                               \
    X(SSL_CTX_ctrl)                                                            \
    X(SSL_CTX_free)                                                            \
    X(SSL_CTX_load_verify_dir)                                                 \
    X(SSL_CTX_load_verify_file)                                                \
    X(SSL_CTX_new)                                                             \
    X(SSL_CTX_sess_set_new_cb)                                                 \
    X(SSL_CTX_set_default_passwd_cb)                                           \
    X(SSL_CTX_set_default_verify_paths)                                        \
    X(SSL_CTX_set_options)                                                     \
    X(SSL_CTX_set_verify)                                                      \
    X(SSL_CTX_use_PrivateKey_file)                                             \
    X(SSL_CTX_use_certificate_chain_file)                                      \
    X(SSL_SESSION_free)                                                        \
    X(SSL_ctrl)                                                                \
    X(SSL_do_handshake)                                                        \
    X(SSL_free)                                                                \
    X(SSL_get0_param)                                                          \
    X(SSL_get1_peer_certificate)                                               \
    X(SSL_get_current_cipher)                                                  \
    X(SSL_get_ex_data)                                                         \
    X(SSL_get_shutdown)                                                        \
    X(SSL_get_verify_result)                                                   \
    X(SSL_get_version)                                                         \
    X(SSL_in_init)                                                             \
    X(SSL_new)                                                                 \
    X(SSL_read)                                                                \
    X(SSL_session_reused)                                                      \
    X(SSL_set_bio)                                                             \
    X(SSL_set_connect_state)                                                   \
    X(SSL_set_ex_data)                                                         \
    X(SSL_set_session)                                                         \
    X(SSL_set_shutdown)                                                        \
    X(SSL_write)                                                               \
    X(TLS_client_method)                                                       \
    X(X509_VERIFY_PARAM_set1_host)                                             \
    X(X509_VERIFY_PARAM_set1_ip_asc)                                           \
    X(X509_VERIFY_PARAM_set_hostflags)                                         \
    X(X509_free)                                                               \
    X(X509_get0_notAfter)                                                      \
    X(X509_verify_cert_error_string)

/* OpenSSL's functions, by their names. */
typedef struct lk__tls_api {
#define X(call) __typeof__ (&(call))(call);
    LK__TLS_CALLS(X)
#undef X
} lk__tls_api;

/* Filled by the first load; read-only since. */
extern lk__tls_api lk__openssl;

/* NULL: it is loaded; or why it cannot be. */
const char *lk__tls_load(void);

/* The sentinels that a URL can name, and servers. */
enum { LK__TLS_PEERS = 20, LK__TLS_NAME = 256 };

/* A server, by the address that it is reached at. */
typedef struct lk__tls_peer {
    char host[LK__TLS_NAME]; /* "": the place is free */
    uint16_t port;
    SSL_SESSION *last; /* to be resumed; NULL: none */
    bool has_facts;
    lk__tls_facts facts;
} lk__tls_peer;

struct lk__tls {
    SSL_CTX *context;
    BIO_METHOD *method; /* how OpenSSL reaches a session's bytes */
    char *name;         /* that each certificate has to have, or NULL */
    lk_tls_verify verify;
    unsigned generation; /* of forks, when it was made */

    pthread_mutex_t mutex; /* guards the rest */
    lk__tls_peer peers[LK__TLS_PEERS];
    size_t next_peer; /* whose place the next one gets */
};

struct lk__tls_session {
    lk__tls *tls;
    char host[LK__TLS_NAME];
    uint16_t port;
    char name[LK__TLS_NAME]; /* that the certificate has to have; no zone */
    bool is_address;         /* name is a number */
    SSL *ssl;
    const char *in; /* borrowed: what was fed and not read yet */
    size_t in_size;
    bool starves; /* OpenSSL last asked for more than that */
    lk__buffer out;
    bool resumes; /* it was given a session of an earlier one */
    bool begun;   /* the handshake is under way, or over, */
    bool stands;  /* and succeeded */
    int error;    /* 0: none yet */
    char words[160];
};

/* ---- tls_client.c -------------------------------------------------------- */

/* Gives a new stream the session of an earlier one to the same server, if there
   is one: with that one the server has proven who it is. */
void lk__tls_resume(lk__tls_session *session);

/* A handshake is over, or was given up: notes what it came to, or forgets what it
   resumed. */
void lk__tls_note(lk__tls_session *session, bool succeeded);

/* The callbacks of a BIO_METHOD, in tls_session.c. */
int lk__tls_bio_read(BIO *bio, char *bytes, int size);
int lk__tls_bio_write(BIO *bio, const char *bytes, int size);
long lk__tls_bio_ctrl(BIO *bio, int command, long number, void *pointer);

/* ---- tls_words.c --------------------------------------------------------- */

/* Why a stream failed, by OpenSSL's last error on this thread. Fills in the
   words and the error of the session. */
void lk__tls_explain(lk__tls_session *session);

/* The reason of OpenSSL's last error on this thread, in its words. */
const char *lk__tls_reason(void);

#endif /* LK_WORLD_TLS_OPENSSL_H */
