/*
 * Options and result codes of curl. It must never switch certificate checks off, follow a
 * redirect, or let a header that is made of two get through.
 */
#include <config.h>

#include "worker/providers/http_setup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE 32768L /* bytes of one read: larger than most bursts of a stream */

/* CURLOPT_OPENSOCKETFUNCTION: no command that a tool starts may inherit a connection. */
static curl_socket_t
open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	int fd;

	(void)arg;
	(void)purpose;
	fd = socket(address->family, address->socktype, address->protocol);
	if (fd != -1)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd == -1 ? CURL_SOCKET_BAD : fd;
}

static bool
is_clean(const char *header)
{
	return strpbrk(header, "\r\n") == NULL && strchr(header, ':') != NULL;
}

static int
set_headers(struct http_setup *setup, const struct curl_library *curl,
    const char *const *headers, struct buffer *error)
{
	/* curl's own wish for "100 Continue" delays big bodies by a second. */
	struct curl_slist *list = curl->slist_append(NULL, "Expect:"), *longer;
	const char *colon;

	for (; list != NULL && headers != NULL && *headers != NULL; headers++) {
		if (!is_clean(*headers)) {
			colon = strchr(*headers, ':');
			buffer_printf(error, "the header %.*s holds a line break or no colon",
			    colon != NULL ? (int)(colon - *headers) : 0, *headers);
			curl->slist_free_all(list);
			return -1;
		}
		longer = curl->slist_append(list, *headers);
		if (longer == NULL)
			curl->slist_free_all(list);
		list = longer;
	}
	setup->headers = list;
	if (list == NULL)
		buffer_append_text(error, "no memory for a request");
	return list == NULL ? -1 : 0;
}

/* True for a folder of certificates by hash ("1d3472b9.0"), as OpenSSL reads it. */
static bool
is_hashed(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (folder != NULL && !found && (entry = readdir(folder)) != NULL)
		found = strspn(entry->d_name, "0123456789abcdef") == 8 &&
			strcmp(entry->d_name + 8, ".0") == 0;
	if (folder != NULL)
		closedir(folder);
	return found;
}

static bool
reads_folders(const struct curl_library *curl)
{
	const char *tls = curl->version_info(CURLVERSION_NOW)->ssl_version;

	return tls != NULL &&
	       (strncmp(tls, "OpenSSL/", 8) == 0 || strncmp(tls, "LibreSSL/", 9) == 0);
}

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* `file` as the runtime names it, NULL = none; SSL_CERT_DIR libcurl leaves to its callers.
 * Where these leave the choice to us, the folder is taken: reading the file with all
 * certificates costs 17 ms and 1 MiB, looking one up in the folder nothing. What the folder
 * does not know is tried with the file by http_setup_bundle(). */
static void
set_certificates(
    struct http_setup *setup, const struct curl_library *curl, CURL *easy, const char *file)
{
	const char *folder = variable("SSL_CERT_DIR");
	char *known_file = NULL, *known_folder = NULL;

	if (folder != NULL)
		curl->easy_setopt(easy, CURLOPT_CAPATH, folder);
	curl->easy_getinfo(easy, CURLINFO_CAINFO, &known_file);
	curl->easy_getinfo(easy, CURLINFO_CAPATH, &known_folder);
	if (folder == NULL)
		folder = known_folder;
	if (file != NULL && (known_file == NULL || strcmp(file, known_file) != 0)) {
		curl->easy_setopt(easy, CURLOPT_CAINFO, file);
	} else if (known_file != NULL && folder != NULL && reads_folders(curl) &&
		   is_hashed(folder)) {
		setup->bundle = known_file; /* constant, built into libcurl */
		curl->easy_setopt(easy, CURLOPT_CAINFO, NULL);
	}
}

bool
http_setup_bundle(struct http_setup *setup, const struct curl_library *curl, CURL *easy)
{
	const char *bundle = setup->bundle;

	setup->bundle = NULL;
	if (bundle != NULL)
		curl->easy_setopt(easy, CURLOPT_CAINFO, bundle);
	return bundle != NULL;
}

static void
set_method(struct http_setup *setup, const struct curl_library *curl, CURL *easy,
    const struct http_request *request)
{
	if (request->body != NULL) {
		curl->easy_setopt(easy, CURLOPT_POST, 1L);
		curl->easy_setopt(
		    easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
		curl->easy_setopt(easy, CURLOPT_POSTFIELDS, setup->body);
	}
	if (request->body == NULL || strcmp(request->method, "POST") != 0)
		curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

int
http_setup_apply(struct http_setup *setup, const struct curl_library *curl, CURL *easy,
    const struct http_request *request, struct buffer *error)
{
	static const struct {
		CURLoption option;
		long value;
	} numbers[] = {
	    {CURLOPT_NOSIGNAL, 1},
	    {CURLOPT_FOLLOWLOCATION, 0}, /* the key stays with its host */
	    {CURLOPT_SSL_VERIFYPEER, 1}, {CURLOPT_SSL_VERIFYHOST, 2},
	    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
	    /* One request at a time: HTTP/2 would only add buffers and a window. */
	    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1}, {CURLOPT_BUFFERSIZE, READ_SIZE},
	    {CURLOPT_TCP_KEEPALIVE, 1}, {CURLOPT_TCP_NODELAY, 1},
	    {CURLOPT_QUICK_EXIT, 1}, /* never wait for the resolver's thread */
	};
	size_t i;

	setup->total_timeout_ms = request->total_timeout_ms;
	for (i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		curl->easy_setopt(easy, numbers[i].option, numbers[i].value);
	if (curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK) {
		buffer_append_text(error, "the libcurl that was found is too old or has no "
					  "HTTPS; 7.88 or newer is needed");
		return -1;
	}
	/* Asks for plain text and still decodes what a server compresses all the same. */
	curl->easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
	curl->easy_setopt(easy, CURLOPT_USERAGENT, "hermes-acp/" PACKAGE_VERSION);
	curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, setup->error);
	curl->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
	curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->total_timeout_ms);
	curl->easy_setopt(easy, CURLOPT_FRESH_CONNECT, request->fresh ? 1L : 0L);
	if (strncasecmp(request->url, "https:", 6) == 0)
		set_certificates(setup, curl, easy, request->ca_file);
	set_method(setup, curl, easy, request);
	if (set_headers(setup, curl, request->headers, error) == -1)
		return -1;
	curl->easy_setopt(easy, CURLOPT_HTTPHEADER, setup->headers);
	if (curl->easy_setopt(easy, CURLOPT_URL, request->url) != CURLE_OK) {
		buffer_append_text(error, "no memory for a request");
		return -1;
	}
	return 0;
}

void
http_setup_free(struct http_setup *setup, const struct curl_library *curl)
{
	curl->slist_free_all(setup->headers);
	setup->headers = NULL;
}

/* Codes that mean something of their own; all others mean that the connection broke. */
static const struct {
	CURLcode code;
	enum http_end end;
} ends[] = {
    {CURLE_OK, HTTP_END_DONE},
    {CURLE_URL_MALFORMAT, HTTP_END_REQUEST},
    {CURLE_UNSUPPORTED_PROTOCOL, HTTP_END_REQUEST},
    {CURLE_OUT_OF_MEMORY, HTTP_END_REQUEST},
    {CURLE_SSL_CACERT_BADFILE, HTTP_END_REQUEST},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_END_CONNECT},
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_END_CONNECT},
    {CURLE_COULDNT_CONNECT, HTTP_END_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, HTTP_END_CONNECT},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_END_CONNECT},
    {CURLE_PROXY, HTTP_END_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, HTTP_END_TIME},
    {CURLE_WEIRD_SERVER_REPLY, HTTP_END_GARBLED},
    {CURLE_BAD_CONTENT_ENCODING, HTTP_END_GARBLED},
};

enum http_end
http_setup_end(const struct http_setup *setup, const struct curl_library *curl, CURLcode code,
    bool connected, struct buffer *message)
{
	enum http_end end = HTTP_END_CUT;
	size_t i;

	for (i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (ends[i].code == code)
			end = ends[i].end;
	/* "Received HTTP/0.9": the server speaks something else. */
	if (code == CURLE_UNSUPPORTED_PROTOCOL && connected)
		end = HTTP_END_GARBLED;
	if ((end == HTTP_END_CUT || end == HTTP_END_TIME) && !connected)
		end = HTTP_END_CONNECT;
	if (end == HTTP_END_TIME)
		buffer_printf(message, "the answer took longer than %lld seconds",
		    (long long)(setup->total_timeout_ms / 1000));
	else if (code != CURLE_OK)
		buffer_append_text(message,
		    setup->error[0] != '\0' ? setup->error : curl->easy_strerror(code));
	return end;
}
