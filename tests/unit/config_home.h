/*
 * A home of Hermes with its two files of configuration. The environment of the one who runs
 * the tests must not reach them.
 */
#ifndef HERMES_TESTS_UNIT_CONFIG_HOME_H
#define HERMES_TESTS_UNIT_CONFIG_HOME_H

#include "tests/unit/scratch.h"
#include "worker/config/provider_table.h"

struct config_home {
	char *folder, *yaml, *dotenv;
};

/* Names the files of the folder, which stays the caller's; makes nothing. */
static inline void
config_home_init(struct config_home *home, char *folder)
{
	home->folder = folder;
	home->yaml = xasprintf("%s/config.yaml", folder);
	home->dotenv = xasprintf("%s/.env", folder);
}

/* Releases the names. */
static inline void
config_home_clear(struct config_home *home)
{
	free(home->yaml);
	free(home->dotenv);
}

/* Makes it the home of this process, without a variable that says something of providers. */
static inline void
config_home_enter(const struct config_home *home)
{
	static const char *const others[] = {"HERMES_MODEL", "HERMES_INFERENCE_PROVIDER",
	    "CUSTOM_BASE_URL", "GROQ_API_KEY", "HERMES_API_TIMEOUT",
	    "HERMES_API_CALL_STALE_TIMEOUT"};
	const struct provider_row *rows;
	size_t count, i, k;

	rows = provider_table(&count);
	for (i = 0; i < count; i++) {
		for (k = 0; k < PROVIDER_KEYS_MAX && rows[i].keys[k] != NULL; k++)
			unsetenv(rows[i].keys[k]);
		if (rows[i].base_variable != NULL)
			unsetenv(rows[i].base_variable);
	}
	for (i = 0; i < sizeof others / sizeof *others; i++)
		unsetenv(others[i]);
	setenv("HERMES_HOME", home->folder, 1);
}

/* Asserts that the file holds this text, and that nobody else may read it. */
static inline void
config_home_holds(const char *path, const char *text)
{
	scratch_holds(path, text);
	assert_int_equal(scratch_mode(path) & 0777, 0600);
}

#endif
