/*
 * Base URLs of model servers: which host they lead to. Keys are given out by host, so what
 * could be read in two ways is refused, never guessed.
 */
#ifndef HERMES_WORKER_CONFIG_ENDPOINT_H
#define HERMES_WORKER_CONFIG_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#define ENDPOINT_HOST_SIZE 256

/* NULL when the URL is one that can be used, else the reason as a phrase. */
const char *endpoint_problem(const char *url);
/* A copy without blanks around it and without slashes at the end; the caller frees it. */
char *endpoint_normalise(const char *url);
/* The host in lower case, without port and brackets; "" when the URL cannot be used. */
void endpoint_host(const char *url, char host[ENDPOINT_HOST_SIZE]);
/* True when both lead to the same scheme, host and port. */
bool endpoint_same_origin(const char *one, const char *other);
/* The path from its first slash; "" when there is none. Borrowed. */
const char *endpoint_path(const char *url);
/* True for this machine: localhost, 127.0.0.0/8, ::1. */
bool endpoint_is_loopback(const char *url);
/* True for this machine and for networks that are not public: 10/8, 172.16/12, 192.168/16,
 * link-local and unique local addresses, single words, names below .local, .internal, .lan. */
bool endpoint_is_local(const char *url);
/* True when `host` is `domain` or lies below it. */
bool endpoint_host_within(const char *host, const char *domain);
/* The name of the variable that holds the key of a vendor by its host: api.groq.com gives
 * GROQ_API_KEY. NULL for addresses and single words; the caller frees it. */
char *endpoint_vendor_variable(const char *host);

#endif
