/*
 * The store of checkpoints: what is kept, found again, merged over turns and removed.
 */
#include <config.h>

#include "worker/store/checkpoint_folder.h"
#include "worker/store/checkpoints.h"

#include "tests/unit/scratch.h"

#define CONTENT_NAME "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

static const struct checkpoint_limits wide = {1 << 20, 4 << 20, 3600};
static char *home, *root;
static struct checkpoints *store;

static int
set_up(void **state)
{
	(void)state;
	home = scratch_new();
	root = xasprintf("%s/checkpoints/acp", home);
	store = checkpoints_new(home, "s-1", &wide);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	checkpoints_free(store);
	scratch_remove(home);
	free(root);
	return 0;
}

/* `before`, `after`: NULL = there is no file. */
static void
keep(const char *path, const char *before, const char *after)
{
	struct checkpoint_edit edit = {.path = path,
	    .existed = before != NULL,
	    .exists = after != NULL,
	    .before = before,
	    .after = after,
	    .before_length = before != NULL ? strlen(before) : 0,
	    .after_length = after != NULL ? strlen(after) : 0,
	    .mode = 0100640};
	struct buffer error = BUFFER_EMPTY;

	assert_int_equal(checkpoints_keep(store, &edit, &error), 0);
	assert_int_equal(error.length, 0);
	buffer_free(&error);
}

static void
count_name(const char *folder, const char *name, void *arg)
{
	(void)folder;
	(void)name;
	++*(size_t *)arg;
}

static size_t
contents(void)
{
	char *folder = xasprintf("%s/objects", root);
	size_t count = 0;

	checkpoint_folder_each(folder, count_name, &count);
	free(folder);
	return count;
}

static void
is_before(struct json_object *changes, const char *path, const char *expected)
{
	const char *name =
	    json_member_text(json_member_object(changes, path), "before", "nothing");
	struct buffer bytes = BUFFER_EMPTY;

	if (expected == NULL) {
		assert_string_equal(name, CHECKPOINT_ABSENT);
		return;
	}
	assert_int_equal(checkpoints_read(store, name, &bytes), 0);
	assert_string_equal(buffer_text(&bytes), expected);
	buffer_free(&bytes);
}

static void
first_of_a_turn_counts(void **state)
{
	struct json_object *changes;
	int64_t turns = 1, mode = 0;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	keep("/a", "1", "2");
	keep("/b", NULL, "b");
	changes = checkpoints_changes(store, &turns);
	assert_int_equal(turns, 1);
	is_before(changes, "/a", "0");
	is_before(changes, "/b", NULL);
	assert_true(json_member_integer(json_member_object(changes, "/a"), "mode", &mode));
	assert_int_equal(mode, 0640);
	assert_int_equal(json_object_array_length(
			     json_member_array(json_member_object(changes, "/a"), "known")),
	    3);
	assert_int_equal(contents(), 1);
	json_object_put(changes);
}

static void
turns_are_merged(void **state)
{
	struct json_object *changes;
	int64_t turns = 10;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	keep("/b", "x", "y");
	checkpoints_turn(store, "1:2", false);
	keep("/a", "1", NULL);
	keep("/b", "foreign", "z");
	changes = checkpoints_changes(store, &turns);
	assert_int_equal(turns, 2);
	is_before(changes, "/a", "0");
	assert_false(json_has(json_member_object(changes, "/a"), "between"));
	assert_true(json_has(json_member_object(changes, "/b"), "between"));
	json_object_put(changes);
	turns = 1;
	changes = checkpoints_changes(store, &turns);
	is_before(changes, "/a", "1");
	json_object_put(changes);
}

/* Only the process that goes on with the same turn adds to its list. */
static void
turn_of_a_successor(void **state)
{
	struct json_object *changes;
	int64_t turns = 10;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	checkpoints_turn(store, "1:1", true);
	keep("/a", "1", "2");
	checkpoints_turn(store, "1:1", false);
	keep("/a", "2", "3");
	checkpoints_turn(store, "1:2", true);
	keep("/a", "3", "4");
	changes = checkpoints_changes(store, &turns);
	assert_int_equal(turns, 3);
	is_before(changes, "/a", "0");
	json_object_put(changes);
}

static void
append_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void
cut_and_strange_lines(void **state)
{
	char *path = xasprintf("%s/sessions/s-1/00000001.jsonl", root);
	struct json_object *changes;
	int64_t turns = 1;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	append_text(path, "7\n[]\n{\"path\":3}\n{\"path\":\"/a\",\"af");
	keep("/b", "b", "c");
	changes = checkpoints_changes(store, &turns);
	is_before(changes, "/a", "0");
	is_before(changes, "/b", "b");
	assert_int_equal(json_object_object_length(changes), 2);
	json_object_put(changes);
	free(path);
}

static void
damaged_content(void **state)
{
	char hash[STATE_HASH_SIZE], *path;
	struct buffer bytes = BUFFER_EMPTY;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	checkpoint_name(true, "0", 1, hash);
	path = xasprintf("%s/objects/%s", root, hash);
	assert_int_equal(scratch_mode(path), 0600);
	scratch_put_text(path, "9");
	assert_int_equal(checkpoints_read(store, hash, &bytes), -1);
	assert_int_equal(checkpoints_read(store, "../../x", &bytes), -1);
	buffer_free(&bytes);
	free(path);
}

static void
names_of_any_bytes(void **state)
{
	struct json_object *changes;
	int64_t turns = 1;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/caf\xe9 \xc3\xa9", "0", "1");
	changes = checkpoints_changes(store, &turns);
	is_before(changes, "/caf\\xE9 \xc3\xa9", "0");
	json_object_put(changes);
}

/* An id never leads out of the folder. */
static void
ids_of_any_kind(void **state)
{
	static const char *const ids[] = {"../x", "a/b", "", ".", "..", ".x"};
	char *folder;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		folder = checkpoint_folder_session("/r", ids[i]);
		assert_int_equal(strlen(folder), strlen("/r/sessions/.") + STATE_HASH_SIZE - 1);
		free(folder);
	}
}

static void
not_kept(void **state)
{
	struct checkpoint_edit edit = {.path = "/s",
	    .unkept = "secret",
	    .existed = true,
	    .exists = true,
	    .before = "x",
	    .after = "y",
	    .before_length = 1,
	    .after_length = 1};
	struct buffer error = BUFFER_EMPTY;
	struct json_object *changes;
	int64_t turns = 1;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	assert_int_equal(checkpoints_keep(store, &edit, &error), -1);
	assert_string_equal(buffer_text(&error), "secret");
	buffer_free(&error);
	assert_int_equal(checkpoints_keep(store, &edit, &error), 0); /* told once a turn */
	changes = checkpoints_changes(store, &turns);
	assert_string_equal(
	    json_member_text(json_member_object(changes, "/s"), "unkept", ""), "secret");
	assert_int_equal(contents(), 0);
	json_object_put(changes);
}

/* A list that is written stays, and so does a content that another list names. */
static void
pruned_but_in_use(void **state)
{
	static const struct checkpoint_limits none = {0, 0, 3600};
	int64_t turns = 10;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	keep("/b", "b", "c");
	checkpoints_turn(store, "1:2", false);
	keep("/a", "0", "2");
	assert_int_equal(checkpoint_prune(root, &none), 1);
	assert_int_equal(contents(), 1);
	json_object_put(checkpoints_changes(store, &turns));
	assert_int_equal(turns, 1);
	checkpoints_turn(store, NULL, false);
	assert_int_equal(checkpoint_prune(root, &none), 0);
	assert_int_equal(contents(), 0);
}

/* What a list names that cannot be read is not known: nothing goes. */
static void
pruned_beside_an_unreadable_list(void **state)
{
	char *path = xasprintf("%s/sessions/s-9/00000001.jsonl", root);
	int fd;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	assert_int_equal(checkpoint_folder_put(root, CONTENT_NAME, "x", 1), 0);
	scratch_make_parents(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, (off_t)CHECKPOINT_LIST_MAX + 1), 0);
	close(fd);
	assert_int_equal(checkpoint_prune(root, &wide), -1);
	assert_int_equal(contents(), 2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(checkpoint_prune(root, &wide), 1);
	assert_int_equal(contents(), 1);
	free(path);
}

static void
prune_waits_for_nobody(void **state)
{
	int lock;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	lock = checkpoint_folder_lock(root, false);
	assert_int_equal(checkpoint_prune(root, &wide), -1);
	fd_close(&lock);
	assert_int_equal(checkpoint_prune(root, &wide), 1);
}

static void
session_is_forgotten(void **state)
{
	int64_t turns = 10;

	(void)state;
	checkpoints_turn(store, "1:1", false);
	keep("/a", "0", "1");
	checkpoints_forget(home, "s-2");
	assert_int_equal(contents(), 1);
	checkpoints_forget(home, "s-1");
	assert_int_equal(contents(), 0);
	json_object_put(checkpoints_changes(store, &turns));
	assert_int_equal(turns, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(first_of_a_turn_counts),
	    CASE(turns_are_merged),
	    CASE(turn_of_a_successor),
	    CASE(cut_and_strange_lines),
	    CASE(damaged_content),
	    CASE(names_of_any_bytes),
	    CASE(ids_of_any_kind),
	    CASE(not_kept),
	    CASE(pruned_but_in_use),
	    CASE(pruned_beside_an_unreadable_list),
	    CASE(prune_waits_for_nobody),
	    CASE(session_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
