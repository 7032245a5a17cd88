/*
 * The reader of YAML: kinds of scalars as PyYAML tells them, aliases with bounds, and
 * errors that name their line.
 */
#include <config.h>

#include "worker/config/yaml_scalar.h"
#include "worker/config/yaml_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static void
expect_scalar(const char *text, const char *json)
{
	struct json_object *value = yaml_scalar_resolve(text, strlen(text));

	assert_string_equal(json_text(value, NULL), json);
	json_object_put(value);
}

static void
test_scalars(void **state)
{
	static const char *const pairs[][2] = {{"1", "1"}, {"-7", "-7"}, {"+5", "5"},
	    {"007", "7"}, {"08", "\"08\""}, {"0x1f", "31"}, {"0b101", "5"}, {"1_000", "1000"},
	    {"1:30", "90"}, {"1:60", "\"1:60\""}, {"1.5", "1.5"}, {".5", "0.5"},
	    {"-.5", "\"-.5\""}, {"1e5", "\"1e5\""}, {"1.0e+3", "1000.0"}, {"yes", "true"},
	    {"Off", "false"}, {"y", "\"y\""}, {"~", "null"}, {"", "null"}, {"NULL", "null"},
	    {"nULL", "\"nULL\""}, {".inf", "\".inf\""}, {"1.2.3", "\"1.2.3\""},
	    {"gpt-5.4", "\"gpt-5.4\""}, {"qwen2.5:7b", "\"qwen2.5:7b\""}, {"-", "\"-\""},
	    {"0x", "\"0x\""}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof pairs / sizeof *pairs; i++)
		expect_scalar(pairs[i][0], pairs[i][1]);
}

static void
expect_tree(const char *text, const char *json)
{
	struct buffer sorted = BUFFER_EMPTY;
	struct yaml_tree tree;

	yaml_tree_parse(&tree, text, strlen(text), "file", NULL);
	assert_false(tree.broken);
	json_append_sorted(&sorted, tree.root);
	assert_string_equal(buffer_text(&sorted), json);
	buffer_free(&sorted);
	yaml_tree_clear(&tree);
}

static void
test_trees(void **state)
{
	(void)state;
	expect_tree("", "{}");
	expect_tree("# nothing\n", "{}");
	expect_tree("a: {b: [1, 'x', {c: d}]}\n", "{\"a\":{\"b\":[1,\"x\",{\"c\":\"d\"}]}}");
	expect_tree(
	    "a: |\n  one\n  two\nb: >-\n  f\n  g\n", "{\"a\":\"one\\ntwo\\n\",\"b\":\"f g\"}");
	expect_tree("x: &a {p: 1, q: 2}\ny:\n  <<: *a\n  q: 3\n",
	    "{\"x\":{\"p\":1,\"q\":2},\"y\":{\"p\":1,\"q\":3}}");
	expect_tree("w:\n  <<: [{r: 5}, {r: 6, s: 7}]\n", "{\"w\":{\"r\":5,\"s\":7}}");
	expect_tree("a: !!str 5\nb: !!float 3\n1: x\ntrue: y\n",
	    "{\"1\":\"x\",\"a\":\"5\",\"b\":3,\"true\":\"y\"}");
}

static void
expect_broken(const char *text, const char *problem)
{
	struct problems problems = {BUFFER_EMPTY, 0};
	struct yaml_tree tree;

	yaml_tree_parse(&tree, text, strlen(text), "file", &problems);
	assert_true(tree.broken);
	assert_int_equal(json_object_object_length(tree.root), 0);
	assert_int_equal(problems.count, 1);
	if (strncmp(buffer_text(&problems.text), problem, strlen(problem)) != 0)
		assert_string_equal(buffer_text(&problems.text), problem);
	yaml_tree_clear(&tree);
	problems_clear(&problems);
}

static void
test_broken_files(void **state)
{
	(void)state;
	expect_broken("ok: 1\na: b: c\n", "file line 2: mapping values are not allowed");
	expect_broken("a:\n\t- b\n", "file line 2, key a: found character that cannot start");
	expect_broken("a:\n  b: [1,\n", "file line 3, key a.b: ");
	expect_broken("a: *x\n", "file line 1, key a: an alias");
	expect_broken("a: &x [*x]\n", "file line 1, key a[0]: an alias");
	expect_broken("a: 1\n---\nb: 1\n", "file line 2: a second document");
	expect_broken("- 1\n", "file line 1: the file must hold keys");
	expect_broken("? [a]\n: b\n", "file line 1: a key must be a word");
	expect_broken("a: 1\nb: \xff\n", "file line 2: ");
}

static void
test_bounds(void **state)
{
	struct buffer text = BUFFER_EMPTY;
	int i;

	(void)state;
	buffer_append_text(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
	for (i = 1; i < 10; i++)
		buffer_printf(&text, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
		    i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	expect_broken(buffer_text(&text), "file line 6, key a5[");
	buffer_clear(&text);
	buffer_append_text(&text, "a: ");
	for (i = 0; i < 100000; i++)
		buffer_append_byte(&text, '[');
	expect_broken(buffer_text(&text), "file line 1, key a[0][0]");
	buffer_clear(&text);
	while (text.length <= YAML_TREE_SIZE_MAX)
		buffer_append_text(&text, "# filler filler filler filler\n");
	expect_broken(buffer_text(&text), "file: the file is too big");
	buffer_free(&text);
}

static void
test_lines_and_doubled_keys(void **state)
{
	static const char text[] = "a:\n  b: 1\n  b: 2\nl:\n- x\n- c: 1\n";
	struct problems problems = {BUFFER_EMPTY, 0};
	struct yaml_tree tree;

	(void)state;
	yaml_tree_parse(&tree, text, strlen(text), "file", &problems);
	assert_int_equal(yaml_tree_line(&tree, "a"), 1);
	assert_int_equal(yaml_tree_line(&tree, "a.b"), 3);
	assert_int_equal(yaml_tree_line(&tree, "l[1].c"), 6);
	assert_int_equal(yaml_tree_line(&tree, "none"), 0);
	assert_string_equal(buffer_text(&problems.text),
	    "file line 3, key a.b: the key stands here again; the last one counts\n");
	assert_int_equal(json_object_get_int(json_member(json_member(tree.root, "a"), "b")), 2);
	yaml_tree_clear(&tree);
	problems_clear(&problems);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scalars),
	    cmocka_unit_test(test_trees),
	    cmocka_unit_test(test_broken_files),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_lines_and_doubled_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
