/*
 * Finding libcurl. The loaded library belongs to the process, not to any object of ours, so
 * the one table below is the process's: filled once, constant from then on, never unloaded
 * (libraries behind libcurl register exit handlers). It must never be half filled.
 */
#include <config.h>

#include "worker/providers/curl_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static struct curl_library library;
static bool library_ready;

#ifdef HERMES_LINKED_CURL

static int
load(struct curl_library *table, struct buffer *error)
{
	static const struct curl_library linked = {
	    .global_init = curl_global_init,
	    .version_info = curl_version_info,
	    .easy_init = curl_easy_init,
	    .easy_setopt = curl_easy_setopt,
	    .easy_getinfo = curl_easy_getinfo,
	    .easy_pause = curl_easy_pause,
	    .easy_cleanup = curl_easy_cleanup,
	    .easy_strerror = curl_easy_strerror,
	    .slist_append = curl_slist_append,
	    .slist_free_all = curl_slist_free_all,
	    .multi_init = curl_multi_init,
	    .multi_cleanup = curl_multi_cleanup,
	    .multi_setopt = curl_multi_setopt,
	    .multi_add_handle = curl_multi_add_handle,
	    .multi_remove_handle = curl_multi_remove_handle,
	    .multi_socket_action = curl_multi_socket_action,
	    .multi_assign = curl_multi_assign,
	    .multi_info_read = curl_multi_info_read,
	    .multi_strerror = curl_multi_strerror,
	};

	(void)error;
	*table = linked;
	return 0;
}

#else

static const char *const library_names[] = {
    "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib", "libcurl.so"};

/* Where the address of each function goes. */
static const struct {
	const char *name;
	size_t offset;
} functions[] = {
    {"curl_global_init", offsetof(struct curl_library, global_init)},
    {"curl_version_info", offsetof(struct curl_library, version_info)},
    {"curl_easy_init", offsetof(struct curl_library, easy_init)},
    {"curl_easy_setopt", offsetof(struct curl_library, easy_setopt)},
    {"curl_easy_getinfo", offsetof(struct curl_library, easy_getinfo)},
    {"curl_easy_pause", offsetof(struct curl_library, easy_pause)},
    {"curl_easy_cleanup", offsetof(struct curl_library, easy_cleanup)},
    {"curl_easy_strerror", offsetof(struct curl_library, easy_strerror)},
    {"curl_slist_append", offsetof(struct curl_library, slist_append)},
    {"curl_slist_free_all", offsetof(struct curl_library, slist_free_all)},
    {"curl_multi_init", offsetof(struct curl_library, multi_init)},
    {"curl_multi_cleanup", offsetof(struct curl_library, multi_cleanup)},
    {"curl_multi_setopt", offsetof(struct curl_library, multi_setopt)},
    {"curl_multi_add_handle", offsetof(struct curl_library, multi_add_handle)},
    {"curl_multi_remove_handle", offsetof(struct curl_library, multi_remove_handle)},
    {"curl_multi_socket_action", offsetof(struct curl_library, multi_socket_action)},
    {"curl_multi_assign", offsetof(struct curl_library, multi_assign)},
    {"curl_multi_info_read", offsetof(struct curl_library, multi_info_read)},
    {"curl_multi_strerror", offsetof(struct curl_library, multi_strerror)},
};

static void *
open_library(void)
{
	void *handle = NULL;
	size_t i;

	for (i = 0; handle == NULL && i < sizeof library_names / sizeof library_names[0]; i++)
		handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static int
load(struct curl_library *table, struct buffer *error)
{
	void *handle = open_library(), *address;
	size_t i;

	if (handle == NULL) {
		buffer_append_text(error,
		    "libcurl, which is needed to talk to a model, was not found; install "
		    "libcurl 4 (libcurl.so.4, package libcurl4 or libcurl)");
		return -1;
	}
	for (i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		address = dlsym(handle, functions[i].name);
		if (address == NULL) {
			buffer_printf(error,
			    "the libcurl that was found lacks %s; "
			    "install a newer libcurl 4",
			    functions[i].name);
			dlclose(handle);
			return -1;
		}
		memcpy((char *)table + functions[i].offset, &address, sizeof address);
	}
	return 0;
}

#endif

const struct curl_library *
curl_library_get(struct buffer *error)
{
	struct curl_library table;
	CURLcode code;

	if (library_ready)
		return &library;
	if (load(&table, error) == -1)
		return NULL;
	code = table.global_init(CURL_GLOBAL_DEFAULT);
	if (code != CURLE_OK) {
		buffer_printf(error, "libcurl does not start: %s", table.easy_strerror(code));
		return NULL;
	}
	library = table;
	library_ready = true;
	return &library;
}
