/*
 * Shell commands taken apart: words, redirections, what is within what.
 */
#include <config.h>

#include "worker/tools/shell_words.h"

#include "common/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct row {
	const char *command;
	const char *expected; /* commands split by "|", words by "_" */
};

static const struct row rows[] = {
    {"", ""},
    {"ls", "ls"},
    {"  ls\t-l   a ", "ls_-l_a"},
    {"a;b&c&&d||e|f\ng", "a|b|c|d|e|f|g"},
    {"a 'b c' \"d e\" f\\ g", "a_b c_d e_f g"},
    {"a 'it'\"'\"'s'", "a_it's"},
    {"a \"\\$x \\\" \\\\ \\n\"", "a_$x \" \\ \\n"},
    {"a ''", "a_"},
    {"a \\\nb", "a_b"},
    {"a\\\nb", "ab"},
    {"a $'x\\ty\\x41\\u00e9\\101\\''", "a_x\ty"
				       "A\xc3\xa9"
				       "A'"},
    {"a $\"x\"", "a_x"},
    {"a # b", "a"},
    {"a b#c", "a_b#c"},
    {"X=1 Y='2 3' a", "a"},
    {"X=1", ""},
    {"a X=1", "a_X=1"},
    {"arr=(1 2); a", "|a"},
    {"a >f 2>&1 <g >>h", "a"},
    {"a 2>f b", "a_b"},
    {"a 2 >f", "a_2"},
    {"a &>f", "a"},
    {"a <<E\nbody b\nE\nc", "a|c"},
    {"a <<-E\n\tbody\n\tE\nc", "a|c"},
    {"a <<'E F'\nx\nE F\nc", "a|c"},
    {"a <<E <<F\n1\nE\n2\nF\nb", "a|b"},
    {"a <<< 'x y'; b", "a|b"},
    {"if a; then b; elif c; then d; else e; fi", "a|b|c|d|e"},
    {"while a; do b; done", "a|b"},
    {"until ! a; do b; done >f", "a|b|"},
    {"for x in 1 2; do a $x; done", "a_$x"},
    {"case a in b) c;; d|e) f;& *) g;; esac; h", "c|f|g|h"},
    {"case a in\n(b)\nc\n;;\nesac\nd", "c|d"},
    {"f() { a; }; g () ( b )", "a|b"},
    {"function f { a; }", "a"},
    {"{ a; b; } | c", "a|b|c"},
    {"(a; (b)) && c", "a|b|c"},
    {"[[ -f a && b < c ]] && d", "[[_-f_a_b_c_]]|d"},
    {"((x = 1 << 2)); a", "a"},
    {"a $((1 << 2)) b", "a_$((1 << 2))_b"},
    {"a $(b c)", "b_c|a_$(:)"},
    {"a \"$(b \"$(c)\")\"", "c|b_$(:)|a_$(:)"},
    {"a `b \\`c\\``", "c|b_$(:)|a_$(:)"},
    {"a <(b) >(c)", "b|c|a_$(:)_$(:)"},
    {"a $(case x in y) b;; esac) c", "b|a_$(:)_c"},
    {"a $(cat <<E\n)\nE\n) b", "cat|a_$(:)_b"},
    {"a<<E\n$(b)\nE", "b|a"},
    {"a<<\\E\n$(b)\nE", "a"},
    {"a $HOME/x ~/y ~ ~bob", "a_\001/x_\001/y_\001_~bob"},
    {"a '~' '$HOME'", "a_~_$HOME"},
    {"a${IFS}b$IFS", "a_b"},
    {"a ${x} $1 $@ ${y:-$(b)}", "b|a_${x}_$1_$@_${y:-$(b)}"},
    {"sudo -u x a b", "sudo_-u_x_a_b|a_b"},
    {"env A=1 B=2 a", "env_A=1_B=2_a|a"},
    {"timeout -s KILL 5 a", "timeout_-s_KILL_5_a|a"},
    {"sh -c 'a b; c'", "sh_-c_a b; c|a_b|c"},
    {"eval a 'b;' c", "eval_a_b;_c|a_b|c"},
    {"x | xargs -n 1 a b", "x|xargs_-n_1_a_b|a_b"},
    {"find . -exec a {} ';' -exec b +", "find_._-exec_a_{}_;_-exec_b_+|a_{}|b"},
    {"sudo env sh -c a", "sudo_env_sh_-c_a|env_sh_-c_a|sh_-c_a|a"},
    {"echo 'a b' | sh", "echo_a b|sh|a_b"},
    {"command -v a", "command_-v_a"},
};

static void
write_out(const struct shell_words *words, struct buffer *text)
{
	size_t i, k;

	for (i = 0; i < words->count; i++) {
		if (i > 0)
			buffer_append_byte(text, '|');
		for (k = 0; k < words->commands[i].count; k++)
			buffer_printf(
			    text, "%s%s", k > 0 ? "_" : "", words->commands[i].words[k].text);
	}
}

static void
test_rows(void **state)
{
	struct shell_words words;
	size_t i, wrong = 0;

	(void)state;
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct buffer text = BUFFER_EMPTY;

		shell_words_read(&words, rows[i].command);
		write_out(&words, &text);
		if (strcmp(buffer_text(&text), rows[i].expected) != 0 ||
		    words.problem != NULL) {
			print_error("%s: \"%s\", wanted \"%s\" (%s)\n", rows[i].command,
			    buffer_text(&text), rows[i].expected,
			    words.problem == NULL ? "" : words.problem);
			wrong++;
		}
		shell_words_clear(&words);
		buffer_free(&text);
	}
	assert_int_equal(wrong, 0);
}

static void
test_flags(void **state)
{
	struct shell_words words;
	const struct shell_word *word;

	(void)state;
	shell_words_read(&words, "a \"$x\" $y 'z' *.c {b,c} $# \"$@\" w");
	assert_int_equal(words.count, 1);
	word = words.commands[0].words;
	assert_true(word[1].dynamic && word[1].quoted && !word[1].splits);
	assert_true(word[2].dynamic && word[2].splits);
	assert_true(word[3].quoted && !word[3].dynamic);
	assert_true(word[4].pattern);
	assert_true(word[5].pattern);
	assert_true(word[6].dynamic && !word[6].splits);
	assert_true(word[7].splits);
	assert_false(word[8].dynamic || word[8].quoted || word[8].pattern);
	shell_words_clear(&words);
}

static void
test_structure(void **state)
{
	struct shell_words words;
	const struct shell_redirection *redirection;

	(void)state;
	shell_words_read(&words, "X=~/f a | b 2>err <<E >>\"o u t\" && c\ntext $y\nE\n");
	assert_int_equal(words.count, 3);
	assert_int_equal(words.commands[0].assignment_count, 1);
	assert_int_equal(words.commands[0].previous, SHELL_NO_COMMAND);
	assert_int_equal(words.commands[1].previous, 0);
	assert_true(words.commands[2].joined);
	assert_int_equal(words.commands[2].previous, SHELL_NO_COMMAND);
	redirection = words.commands[1].redirections;
	assert_int_equal(redirection->kind, SHELL_REDIRECTION_WRITE);
	assert_string_equal(redirection->word.text, "err");
	redirection = redirection->next;
	assert_int_equal(redirection->kind, SHELL_REDIRECTION_TEXT);
	assert_string_equal(redirection->word.text, "text $y\n");
	assert_true(redirection->word.dynamic);
	redirection = redirection->next;
	assert_string_equal(redirection->word.text, "o u t");
	assert_null(redirection->next);
	shell_words_clear(&words);
	shell_words_read(&words, "a \"$(b; c)\"");
	assert_int_equal(words.commands[2].words[1].inner, 0);
	assert_int_equal(words.commands[2].words[1].inner_end, 2);
	shell_words_clear(&words);
}

static void
test_problems(void **state)
{
	static const char *const broken[] = {
	    "a 'b", "a \"b", "a `b", "a ${b", "a $(b", "(a", "a <(b", "a $'b"};
	struct shell_words words;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof broken / sizeof *broken; i++) {
		shell_words_read(&words, broken[i]);
		if (i != 5)
			assert_non_null(words.problem);
		shell_words_clear(&words);
	}
	shell_words_read(&words, ":(){ :|:& };:");
	assert_true(words.fork_bomb);
	shell_words_clear(&words);
	shell_words_read(&words, "f() { f2 | f3 & }; f");
	assert_false(words.fork_bomb);
	shell_words_clear(&words);
}

/* Every prefix of odd text is read without harm. */
static void
test_prefixes(void **state)
{
	static const char text[] =
	    "a=(x $(y) ) b 'c' \"d${e:-`f \\`g\\``}\" $'\\x41\\u' <<-E <(h) "
	    "[[ i =~ (j) ]] ((k<<2)) case l in (m) n;; esac\n\t$(o)\nE\n"
	    "p() { q; }; r?(s) \\\n t${IFS}u & &>v >|w {x}<y 2>&- z\\";
	struct shell_words words;
	char *prefix;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof text; i++) {
		prefix = malloc(i + 1);
		memcpy(prefix, text, i);
		prefix[i] = '\0';
		shell_words_read(&words, prefix);
		shell_words_clear(&words);
		free(prefix);
	}
}

static void
test_program(void **state)
{
	struct shell_words words;
	char name[8];

	(void)state;
	shell_words_read(&words, "/usr/BIN/Rm x; $y z; averylongname");
	shell_words_program(&words.commands[0], name, sizeof name);
	assert_string_equal(name, "rm");
	shell_words_program(&words.commands[1], name, sizeof name);
	assert_string_equal(name, "");
	shell_words_program(&words.commands[2], name, sizeof name);
	assert_string_equal(name, "averylo");
	shell_words_clear(&words);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_flags),
	    cmocka_unit_test(test_structure),
	    cmocka_unit_test(test_problems),
	    cmocka_unit_test(test_prefixes),
	    cmocka_unit_test(test_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
