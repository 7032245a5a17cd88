/*
 * What a path is: a table of patterns. It looks at the text of absolute paths only; following
 * links is path_rules_resolve.c. A pattern must never depend on upper or lower case, because
 * some file systems do not.
 */
#include <config.h>

#include "worker/tools/path_rules.h"

#include "worker/tools/tool.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* What a pattern is compared with. */
enum rule_place {
	RULE_COMPONENT, /* any one component of the path */
	RULE_NAME,	/* the last component; the first row that fits is the only one */
	RULE_HOME,	/* the path below the user's home and all below it; first row only */
	RULE_HERMES,	/* the same below $HERMES_HOME */
	RULE_ROOT	/* the whole path, "/" first, and all below it; first row only */
};

struct path_rule {
	enum rule_place place;
	const char *pattern;
	unsigned flags;
	const char *label;
};

#define KEY (PATH_SENSITIVE | PATH_SECRET)
#define DENY (PATH_SENSITIVE | PATH_UNWRITABLE)
#define HIDE (KEY | PATH_UNREADABLE)

static const char repository[] = "a Git repository's own data";
static const char ssh[] = "SSH configuration or keys";
static const char private_key[] = "a private key";
static const char environment[] = "a file of secrets for the environment";
static const char credentials[] = "a credential file";
static const char instructions[] = "a file of instructions for agents";
static const char start_up[] = "a file that a shell or the desktop runs by itself";
static const char hermes[] = "Hermes' own state";
static const char operating_system[] = "a part of the operating system";
static const char device[] = "a device";
static const char process[] = "the memory or environment of a process";

/* As in Hermes: what is never read, what is never written, and the sensitive ones of the ACP
 * adapter, made wider: its list had five names. */
static const struct path_rule rules[] = {
    {RULE_COMPONENT, ".git", PATH_SENSITIVE, repository},
    {RULE_COMPONENT, ".ssh", KEY, ssh},
    {RULE_COMPONENT, ".gnupg", KEY, credentials},
    {RULE_COMPONENT, ".aws", KEY, credentials},

    {RULE_NAME, ".env", HIDE, environment},
    {RULE_NAME, ".env.local", HIDE, environment},
    {RULE_NAME, ".env.development", HIDE, environment},
    {RULE_NAME, ".env.production", HIDE, environment},
    {RULE_NAME, ".env.test", HIDE, environment},
    {RULE_NAME, ".env.staging", HIDE, environment},
    {RULE_NAME, ".envrc", HIDE, environment},
    {RULE_NAME, ".env.example", PATH_SENSITIVE, environment},
    {RULE_NAME, ".env.sample", PATH_SENSITIVE, environment},
    {RULE_NAME, ".env.template", PATH_SENSITIVE, environment},
    {RULE_NAME, ".env.dist", PATH_SENSITIVE, environment},
    {RULE_NAME, ".env.*", KEY, environment},
    {RULE_NAME, "id_*.pub", PATH_SENSITIVE, ssh},
    {RULE_NAME, "id_rsa*", KEY, private_key},
    {RULE_NAME, "id_dsa*", KEY, private_key},
    {RULE_NAME, "id_ecdsa*", KEY, private_key},
    {RULE_NAME, "id_ed25519*", KEY, private_key},
    {RULE_NAME, "*.pem", KEY, private_key},
    {RULE_NAME, "*.key", KEY, private_key},
    {RULE_NAME, "*.p12", KEY, private_key},
    {RULE_NAME, "*.pfx", KEY, private_key},
    {RULE_NAME, "*.jks", KEY, private_key},
    {RULE_NAME, "*.kdbx", KEY, credentials},
    {RULE_NAME, ".netrc", KEY, credentials},
    {RULE_NAME, "_netrc", KEY, credentials},
    {RULE_NAME, ".pgpass", KEY, credentials},
    {RULE_NAME, ".pypirc", KEY, credentials},
    {RULE_NAME, ".git-credentials", KEY, credentials},
    {RULE_NAME, ".npmrc", PATH_SENSITIVE, credentials},
    {RULE_NAME, "agents.md", PATH_INSTRUCTIONS, instructions},
    {RULE_NAME, "claude.md", PATH_INSTRUCTIONS, instructions},
    {RULE_NAME, "soul.md", PATH_INSTRUCTIONS, instructions},
    {RULE_NAME, ".cursorrules", PATH_INSTRUCTIONS, instructions},
    {RULE_NAME, ".hermes.md", PATH_INSTRUCTIONS, instructions},

    {RULE_HOME, ".ssh/config", KEY, ssh},
    {RULE_HOME, ".ssh/known_hosts", KEY, ssh},
    {RULE_HOME, ".ssh", KEY | DENY, ssh},
    {RULE_HOME, ".aws", KEY | DENY, credentials},
    {RULE_HOME, ".gnupg", KEY | DENY, credentials},
    {RULE_HOME, ".kube", KEY | DENY, credentials},
    {RULE_HOME, ".docker", KEY | DENY, credentials},
    {RULE_HOME, ".azure", KEY | DENY, credentials},
    {RULE_HOME, ".config/gh", KEY | DENY, credentials},
    {RULE_HOME, ".config/gcloud", KEY | DENY, credentials},
    {RULE_HOME, ".netrc", KEY | DENY, credentials},
    {RULE_HOME, ".pgpass", KEY | DENY, credentials},
    {RULE_HOME, ".npmrc", KEY | DENY, credentials},
    {RULE_HOME, ".pypirc", KEY | DENY, credentials},
    {RULE_HOME, ".git-credentials", KEY | DENY, credentials},
    {RULE_HOME, ".config/git/credentials", KEY | DENY, credentials},
    {RULE_HOME, ".config/systemd", DENY, start_up},
    {RULE_HOME, ".config/autostart", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".config/fish", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".config/git", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".gitconfig", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".bash*", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".zsh*", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".zprofile", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".zlog*", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".profile", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".kshrc", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".cshrc", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".tcshrc", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".login", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".xinitrc", PATH_SENSITIVE, start_up},
    {RULE_HOME, ".xprofile", PATH_SENSITIVE, start_up},

    {RULE_HERMES, "auth.json", HIDE | DENY, credentials},
    {RULE_HERMES, "auth.lock", HIDE | DENY, credentials},
    {RULE_HERMES, ".env", HIDE | DENY, credentials},
    {RULE_HERMES, ".anthropic_oauth.json", HIDE | DENY, credentials},
    {RULE_HERMES, "webhook_subscriptions.json", HIDE | DENY, credentials},
    {RULE_HERMES, "auth", HIDE | DENY, credentials},
    {RULE_HERMES, "mcp-tokens", HIDE | DENY, credentials},
    {RULE_HERMES, "skills/.hub", PATH_SENSITIVE | PATH_UNREADABLE, hermes},
    {RULE_HERMES, "config.yaml", DENY | PATH_INSTRUCTIONS, hermes},
    {RULE_HERMES, "memories", PATH_INSTRUCTIONS, instructions},
    {RULE_HERMES, "state.db*", DENY, hermes},
    {RULE_HERMES, "sessions", DENY, hermes},
    {RULE_HERMES, "pairing", DENY, hermes},

    {RULE_ROOT, "/proc/*/fd/[012]", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/proc/*/environ", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/cmdline", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/*maps*", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/mem", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/auxv", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/pagemap", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/map_files", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/fd/[012]", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/proc/*/task/*/environ", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/cmdline", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/*maps*", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/mem", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/auxv", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/*/task/*/pagemap", PATH_UNREADABLE | DENY, process},
    {RULE_ROOT, "/proc/kcore", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/proc/kmsg", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/proc", DENY, operating_system},
    {RULE_ROOT, "/sys", DENY, operating_system},
    {RULE_ROOT, "/dev/shm", 0, NULL},
    {RULE_ROOT, "/dev/zero", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/*random", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/full", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/std*", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/tty*", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/console", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev/fd/[012]", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/dev", DENY, device},
    {RULE_ROOT, "/etc/*shadow*", KEY | PATH_UNREADABLE | DENY, credentials},
    {RULE_ROOT, "/etc", DENY, operating_system},
    {RULE_ROOT, "/boot", DENY, operating_system},
    {RULE_ROOT, "/usr/lib/systemd", DENY, operating_system},
    {RULE_ROOT, "/lib/systemd", DENY, operating_system},
    {RULE_ROOT, "/var/spool/cron", DENY, operating_system},
    {RULE_ROOT, "/private/etc", DENY, operating_system},
    {RULE_ROOT, "/private/var/folders", 0, NULL}, /* temporary files on macOS */
    {RULE_ROOT, "/private/var/tmp", 0, NULL},
    {RULE_ROOT, "/private/var", DENY, operating_system},
    {RULE_ROOT, "/run/docker.sock", PATH_UNREADABLE | DENY, device},
    {RULE_ROOT, "/var/run/docker.sock", PATH_UNREADABLE | DENY, device},
};

/* The answer while it is put together. */
struct judgement {
	unsigned flags;
	const char *label;
	unsigned label_flags;
};

bool
path_rules_below(const char *folder, const char *path)
{
	size_t length = strlen(folder);

	while (length > 1 && folder[length - 1] == '/')
		length--;
	if (length == 1 && folder[0] == '/')
		return path[0] == '/';
	return strncmp(folder, path, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

/* The part of `path` below `folder`, without a leading "/"; NULL when it is not below it. */
static const char *
rest_below(const char *folder, const char *path)
{
	const char *rest;

	if (folder == NULL || strcmp(folder, "/") == 0 || !path_rules_below(folder, path))
		return NULL;
	rest = path + strlen(folder);
	while (*rest == '/')
		rest++;
	return rest;
}

static bool
matches_component(const char *pattern, const char *path)
{
	const size_t wanted = strlen(pattern);
	size_t length;

	for (; *path != '\0'; path += length + (path[length] == '/')) {
		length = strcspn(path, "/");
		if (length == wanted && strncasecmp(path, pattern, length) == 0)
			return true;
	}
	return false;
}

static bool
matches_tree(const char *pattern, const char *text)
{
	return text != NULL &&
	       fnmatch(pattern, text, FNM_CASEFOLD | FNM_PATHNAME | FNM_LEADING_DIR) == 0;
}

static bool
rule_matches(const struct path_rule *rule, const struct path_places *places, const char *path)
{
	const char *name = strrchr(path, '/');

	switch (rule->place) {
	case RULE_COMPONENT:
		return matches_component(rule->pattern, path);
	case RULE_NAME:
		return name != NULL && fnmatch(rule->pattern, name + 1, FNM_CASEFOLD) == 0;
	case RULE_HOME:
		return matches_tree(rule->pattern, rest_below(places->homes[0], path)) ||
		       matches_tree(rule->pattern, rest_below(places->homes[1], path));
	case RULE_HERMES:
		return matches_tree(rule->pattern, rest_below(places->hermes[0], path)) ||
		       matches_tree(rule->pattern, rest_below(places->hermes[1], path));
	case RULE_ROOT:
		return matches_tree(rule->pattern, path);
	}
	return false;
}

static unsigned
count_bits(unsigned flags)
{
	return (unsigned)__builtin_popcount(flags);
}

/* The label of the strictest rule is what people read. */
static void
judge(struct judgement *judgement, const struct path_rule *rule)
{
	judgement->flags |= rule->flags;
	if (judgement->label == NULL ||
	    count_bits(rule->flags) > count_bits(judgement->label_flags)) {
		judgement->label = rule->label;
		judgement->label_flags = rule->flags;
	}
}

unsigned
path_rules_flags(const struct path_places *places, const char *path, const char **label)
{
	struct judgement judgement = {0, NULL, 0};
	bool decided[RULE_ROOT + 1] = {false};
	size_t i;

	for (i = 0; i < sizeof rules / sizeof *rules; i++) {
		const struct path_rule *rule = &rules[i];

		if (decided[rule->place] || !rule_matches(rule, places, path))
			continue;
		decided[rule->place] = rule->place != RULE_COMPONENT;
		judge(&judgement, rule);
	}
	if (label != NULL)
		*label = judgement.flags != 0 ? judgement.label : NULL;
	return judgement.flags;
}
