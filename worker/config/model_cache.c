/*
 * The file of a list of models. Whatever is in it is believed no more than a server: a file
 * that is broken, too long or from the future is as good as none. No key and no address stands
 * in it.
 */
#include <config.h>

#include "worker/config/model_cache.h"

#include "worker/config/config_file.h"
#include "common/alloc.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define NAME_MAX_BYTES 256
#define MODELS_MAX 2000
#define FILE_MAX_BYTES ((size_t)1 << 20)
#define AGAIN_MAX_SECONDS (24 * 3600)
#define PROVIDER_WIDTH 40

bool
model_cache_name_fits(const char *name)
{
	const char *byte;

	for (byte = name; *byte != '\0'; byte++)
		if ((unsigned char)*byte <= ' ' || *byte == 0x7f)
			return false;
	return byte != name && byte - name <= NAME_MAX_BYTES;
}

static char *
folder_of(const char *home)
{
	return xasprintf("%s/cache", home);
}

/* FNV-1a: it only tells addresses apart. */
static uint64_t
hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static char *
path_of(const char *home, const char *provider, const char *base_url)
{
	char *folder = folder_of(home), *path, *byte;
	char *name = xasprintf("%.*s", PROVIDER_WIDTH, provider);

	for (byte = name; *byte != '\0'; byte++)
		if (!isalnum((unsigned char)*byte) && strchr("-_.", *byte) == NULL)
			*byte = '_';
	path = xasprintf("%s/models-%s-%016" PRIx64 ".json", folder, name, hash_of(base_url));
	free(name);
	free(folder);
	return path;
}

static struct json_object *
take_models(struct json_object *list)
{
	struct json_object *models = json_object_new_array(), *model, *entry;
	size_t i;

	for (i = 0; i < json_object_array_length(list) && i < MODELS_MAX; i++) {
		int64_t tokens = 0;

		model = json_object_array_get_idx(list, i);
		if (!model_cache_name_fits(json_member_text(model, "id", "")))
			continue;
		json_member_integer(model, "context_length", &tokens);
		entry = json_object_new_object();
		json_set_text(entry, "id", json_member_text(model, "id", ""));
		json_set_integer(
		    entry, "context_length", tokens > 0 && tokens <= INT32_MAX ? tokens : 0);
		json_object_array_add(models, entry);
	}
	return models;
}

struct json_object *
model_cache_read(const char *home, const char *provider, const char *base_url, int64_t *again)
{
	char *path = path_of(home, provider, base_url);
	struct buffer text = BUFFER_EMPTY, ignored = BUFFER_EMPTY;
	struct json_object *value = NULL, *models = NULL;
	const char *reason;

	*again = 0;
	if (config_file_read(path, FILE_MAX_BYTES, &text, &ignored) == CONFIG_FILE_READ)
		value = json_parse(buffer_text(&text), text.length, &reason);
	json_member_integer(value, "again", again);
	if (*again > (int64_t)time(NULL) + AGAIN_MAX_SECONDS) /* the clock was set back */
		*again = 0;
	if (json_member_array(value, "models") != NULL)
		models = take_models(json_member_array(value, "models"));
	json_object_put(value);
	buffer_free(&text);
	buffer_free(&ignored);
	free(path);
	return models;
}

int
model_cache_write(const char *home, const char *provider, const char *base_url,
    struct json_object *models, int64_t again, struct buffer *error)
{
	char *folder = folder_of(home), *path = path_of(home, provider, base_url);
	struct json_object *value = json_object_new_object();
	const char *text;
	size_t length;
	int result;

	json_set_integer(value, "again", again);
	json_set(value, "models", json_object_get(models));
	text = json_text(value, &length);
	mkdir(folder, 0700);
	result = config_file_replace_soon(path, text, length, error);
	json_object_put(value);
	free(folder);
	free(path);
	return result;
}
