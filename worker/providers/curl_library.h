/*
 * libcurl, loaded when the first request needs it: its thirty libraries cost every process
 * 4 ms and 1.2 MiB, and most workers of a spare or idle session never talk to a model.
 * Built with HERMES_LINKED_CURL the table holds the linked functions instead.
 */
#ifndef HERMES_WORKER_PROVIDERS_CURL_LIBRARY_H
#define HERMES_WORKER_PROVIDERS_CURL_LIBRARY_H

#include "common/buffer.h"

#include <curl/curl.h>

/* The functions that are used, named as in libcurl without "curl_". The variadic ones take
 * exactly the types that the manual names: long, curl_off_t or a pointer. */
struct curl_library {
	CURLcode (*global_init)(long flags);
	curl_version_info_data *(*version_info)(CURLversion age);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
	CURLcode (*easy_pause)(CURL *easy, int mask);
	void (*easy_cleanup)(CURL *easy);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_cleanup)(CURLM *multi);
	CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
	CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
	CURLMcode (*multi_socket_action)(
	    CURLM *multi, curl_socket_t fd, int bits, int *running);
	CURLMcode (*multi_assign)(CURLM *multi, curl_socket_t fd, void *socket_data);
	CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
	const char *(*multi_strerror)(CURLMcode code);
};

/* The library, loaded and initialised on the first call; valid until the process ends.
 * NULL with a sentence appended to `error` when there is none. */
const struct curl_library *curl_library_get(struct buffer *error);

#endif
