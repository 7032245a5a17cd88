/*
 * A small strict reader of http(s) URLs. It must never find another host than libcurl does;
 * everything unusual (user names, escapes in the host) is refused.
 */
#include <config.h>

#include "worker/config/endpoint.h"

#include "common/alloc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the host starts; NULL for other schemes. */
static const char *
authority(const char *url)
{
	if (strncasecmp(url, "https://", 8) == 0)
		return url + 8;
	if (strncasecmp(url, "http://", 7) == 0)
		return url + 7;
	return NULL;
}

static size_t
host_length(const char *place)
{
	if (*place == '[')
		return strspn(place + 1, "0123456789abcdefABCDEF:.") + 2;
	return strspn(
	    place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
}

static bool
port_fits(const char *port, size_t *length)
{
	size_t digits = strspn(port, "0123456789");

	*length = digits;
	return digits > 0 && digits <= 5 && strtol(port, NULL, 10) > 0 &&
	       strtol(port, NULL, 10) <= 65535;
}

const char *
endpoint_problem(const char *url)
{
	const char *place = authority(url);
	size_t length;

	if (place == NULL)
		return "it must start with http:// or https://";
	for (; *url != '\0'; url++) {
		if ((unsigned char)*url <= 0x20 || *url == 0x7f || *url == '\\')
			return "there is a blank, a control character or a backslash in it";
		if (*url == '?' || *url == '#')
			return "there is a \"?\" or \"#\" in it";
	}
	length = host_length(place);
	if (length == 0 || length >= ENDPOINT_HOST_SIZE ||
	    (*place == '[' && (length < 4 || place[length - 1] != ']')))
		return "there is no host in it";
	place += length;
	if (*place == ':') {
		if (!port_fits(place + 1, &length))
			return "its port is not a number from 1 to 65535";
		place += 1 + length;
	}
	if (strcspn(place, "@") < strcspn(place, "/"))
		return "there is a user name in it";
	if (*place != '\0' && *place != '/')
		return "there is a character in its host that does not belong there";
	return NULL;
}

char *
endpoint_normalise(const char *url)
{
	size_t length;

	url += strspn(url, " \t\r\n");
	length = strlen(url);
	while (length > 0 && strchr(" \t\r\n/", url[length - 1]) != NULL)
		length--;
	return xstrndup(url, length);
}

void
endpoint_host(const char *url, char host[ENDPOINT_HOST_SIZE])
{
	const char *place;
	size_t length, i;

	host[0] = '\0';
	place = authority(url);
	if (place == NULL || endpoint_problem(url) != NULL)
		return;
	length = host_length(place);
	if (*place == '[') {
		place++;
		length -= 2;
	}
	for (i = 0; i < length; i++)
		host[i] = (char)tolower((unsigned char)place[i]);
	while (length > 0 && host[length - 1] == '.')
		length--;
	host[length] = '\0';
}

static long
port_of(const char *url)
{
	const char *place = authority(url);

	if (place == NULL)
		return 0;
	place += host_length(place);
	if (*place == ':')
		return strtol(place + 1, NULL, 10);
	return strncasecmp(url, "https:", 6) == 0 ? 443 : 80;
}

bool
endpoint_same_origin(const char *one, const char *other)
{
	char first[ENDPOINT_HOST_SIZE], second[ENDPOINT_HOST_SIZE];

	endpoint_host(one, first);
	endpoint_host(other, second);
	return first[0] != '\0' && strcmp(first, second) == 0 &&
	       strncasecmp(one, other, 6) == 0 && port_of(one) == port_of(other);
}

const char *
endpoint_path(const char *url)
{
	const char *place = authority(url);

	return place == NULL ? "" : place + strcspn(place, "/");
}

bool
endpoint_is_loopback(const char *url)
{
	char host[ENDPOINT_HOST_SIZE];
	struct in6_addr six;
	struct in_addr four;

	endpoint_host(url, host);
	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	return endpoint_host_within(host, "localhost");
}

static bool
is_private_four(uint32_t address)
{
	return address >> 24 == 10 || address >> 20 == (172 << 4 | 1) ||
	       address >> 16 == (192 << 8 | 168) || address >> 16 == (169 << 8 | 254) ||
	       address >> 22 == (100 << 2 | 1); /* 100.64/10: networks laid over others */
}

bool
endpoint_is_local(const char *url)
{
	static const char *const domains[] = {"local", "internal", "lan", "home.arpa"};
	char host[ENDPOINT_HOST_SIZE];
	struct in6_addr six;
	struct in_addr four;
	size_t i;

	if (endpoint_is_loopback(url))
		return true;
	endpoint_host(url, host);
	if (inet_pton(AF_INET, host, &four) == 1)
		return is_private_four(ntohl(four.s_addr));
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LINKLOCAL(&six) || (six.s6_addr[0] & 0xfe) == 0xfc;
	for (i = 0; i < sizeof domains / sizeof *domains; i++)
		if (endpoint_host_within(host, domains[i]))
			return true;
	return host[0] != '\0' && strchr(host, '.') == NULL;
}

bool
endpoint_host_within(const char *host, const char *domain)
{
	size_t length = strlen(host), tail = strlen(domain);

	if (length < tail || strcmp(host + length - tail, domain) != 0)
		return false;
	return length == tail || host[length - tail - 1] == '.';
}

/* The label under which a name is registered: the one before ".com", ".co.uk" … */
static const char *
registered_label(const char *host)
{
	static const char *const second[] = {"co", "com", "org", "net", "ac", "gov", "edu"};
	const char *last = strrchr(host, '.'), *label;
	size_t i, length;

	if (last == NULL || last == host || isdigit((unsigned char)last[1]))
		return NULL;
	for (label = last; label > host && label[-1] != '.';)
		label--;
	length = (size_t)(last - label);
	for (i = 0; i < sizeof second / sizeof *second; i++)
		if (strlen(last) == 3 && label > host + 1 && strlen(second[i]) == length &&
		    strncmp(label, second[i], length) == 0)
			break;
	if (i == sizeof second / sizeof *second)
		return label;
	for (label--; label > host && label[-1] != '.';)
		label--;
	return label;
}

char *
endpoint_vendor_variable(const char *host)
{
	const char *label = strchr(host, ':') == NULL ? registered_label(host) : NULL;
	char *name, *byte;

	if (label == NULL || endpoint_host_within(host, "localhost") ||
	    endpoint_host_within(host, "local"))
		return NULL;
	name = xasprintf("%.*s_API_KEY", (int)strcspn(label, "."), label);
	for (byte = name; *byte != '\0'; byte++)
		*byte = *byte == '-' ? '_' : (char)toupper((unsigned char)*byte);
	return name;
}
