/*
 * Random edits of random texts through the tool patch: afterwards a file is what was meant, to
 * the last byte, or it is untouched and the error is true. What was meant comes from how the
 * text was made, never from the code that is tested. HERMES_TEST_SEED and HERMES_TEST_CASES
 * choose other cases and more of them.
 */
#include <config.h>

#include "tests/unit/edit_fixture.h"
#include "tests/unit/random_text.h"

#define CASES 20000
#define OLD_MAX 3 /* lines of a passage */

enum action { REPLACE_WORD, INSERT_LINE, DELETE_LINE, ACTIONS };

/* How the model got the passage wrong. */
enum flaw { TYPO, LINE_NUMBERS, LINE_LEFT_OUT, ESCAPED_QUOTES, BROKEN_TWIN, FLAWS, FLAWLESS };

struct trial {
	uint64_t seed;
	struct random_text text;
	struct random_view view;
	enum action action;
	enum flaw flaw;
	bool v4a;
	bool closed;		   /* the old and new text end with a line end */
	size_t first, count;	   /* the passage */
	size_t at;		   /* the line of it that changes */
	struct random_line new;	   /* what comes there */
	struct buffer old, wanted; /* as the model sends them */
	struct buffer before, after;
};

static size_t done, refused, flawed, ambiguous, elsewhere;

static size_t
below(struct trial *trial, size_t limit)
{
	return seeded_random_below(&trial->seed, limit);
}

/* The model sees two lines as one and the same. */
static bool
look_alike(const struct trial *trial, size_t a, size_t b)
{
	struct buffer one = BUFFER_EMPTY, other = BUFFER_EMPTY;
	bool alike;

	random_line_view(&trial->text.lines[a], &trial->view, &one);
	random_line_view(&trial->text.lines[b], &trial->view, &other);
	alike = strcmp(buffer_text(&one), buffer_text(&other)) == 0;
	buffer_free(&one);
	buffer_free(&other);
	return alike;
}

/* One of two equal neighbours goes: which one is not to be told. */
static bool
has_twin(const struct trial *trial)
{
	size_t line = trial->first + trial->at;

	return (trial->at > 0 && look_alike(trial, line, line - 1)) ||
	       (trial->at + 1 < trial->count && look_alike(trial, line, line + 1));
}

static void
choose_passage(struct trial *trial)
{
	const struct random_text *text = &trial->text;
	size_t most = text->count < OLD_MAX ? text->count : OLD_MAX;

	trial->count = 1 + below(trial, most);
	trial->first = below(trial, text->count - trial->count + 1);
	trial->at = below(trial, trial->count);
	trial->action = (enum action)below(trial, ACTIONS);
	trial->closed = trial->v4a || below(trial, 2) == 0 ||
			text->lines[trial->first + trial->count - 1].word_count == 0;
	/* Nothing stands behind the last line of a file without a line end there. */
	if (!trial->v4a && !text->ends && trial->first + trial->count == text->count)
		trial->closed = false;
	/* What becomes of the last line end is clear only when it is part of the passage. */
	if (!trial->closed && trial->at + 1 == trial->count)
		trial->action = REPLACE_WORD;
	if (trial->action == DELETE_LINE && (trial->count == 1 || has_twin(trial)))
		trial->action = REPLACE_WORD;
	/* Without blanks at its end, an empty line at the front may be the end of the one
	 * before. */
	if (trial->at == 0 && text->lines[trial->first].word_count == 0)
		trial->action = INSERT_LINE;
	/* Blanks of an empty line are indentation or trailing ones, as you like. */
	if (trial->action == REPLACE_WORD && (trial->view.flags & ~RANDOM_VIEW_ASCII) != 0 &&
	    text->lines[trial->first + trial->at].word_count == 0)
		trial->action = INSERT_LINE;
}

/* What the file indents with is to be seen in the passage. */
static bool
shows_indentation(const struct trial *trial)
{
	const struct random_line *line = trial->text.lines + trial->first;
	size_t i;

	for (i = 0; i < trial->count; i++)
		if (line[i].word_count > 0 && line[i].depth > 0)
			return true;
	return false;
}

/* The line that stands there afterwards. */
static void
choose_line(struct trial *trial)
{
	const struct random_line *line = &trial->text.lines[trial->first + trial->at];

	trial->new = *line;
	if (trial->action == INSERT_LINE)
		trial->new.word_count = 0;
	if (trial->action == INSERT_LINE || line->word_count == 0) {
		trial->new.trailing = "";
		if (!shows_indentation(trial))
			trial->new.depth = 0;
	}
	if (trial->action == REPLACE_WORD && line->word_count > 0)
		trial->new.words[below(trial, line->word_count)] = "replaced();";
	else
		trial->new.words[trial->new.word_count++] = "another_line();";
	if (trial->new.word_count > RANDOM_WORDS)
		trial->new.word_count = RANDOM_WORDS;
}

/* Lines as the model sends them; the prefix is that of a patch. */
static void
append_view(struct trial *trial, struct buffer *out, const struct random_line *line, bool last)
{
	random_line_view(line, &trial->view, out);
	if (!last || trial->closed)
		buffer_append_byte(out, '\n');
}

static void
write_passage(struct trial *trial)
{
	const struct random_line *lines = trial->text.lines + trial->first;
	size_t i;

	for (i = 0; i < trial->count; i++) {
		bool last = i + 1 == trial->count;

		append_view(trial, &trial->old, &lines[i], last);
		if (i != trial->at || trial->action == INSERT_LINE)
			append_view(trial, &trial->wanted, &lines[i],
			    last && !(i == trial->at && trial->action == INSERT_LINE));
		if (i == trial->at && trial->action != DELETE_LINE)
			append_view(trial, &trial->wanted, &trial->new, last);
	}
}

/* The file as it is meant to be; a new line ends as `line_end` says. */
static void
write_after(struct trial *trial, const char *line_end, struct buffer *out)
{
	struct random_text after = trial->text;
	size_t at = trial->first + trial->at;

	/* A line that nothing is left of is a new one. */
	trial->new.line_end = trial->action == INSERT_LINE || after.lines[at].word_count == 0
				  ? line_end
				  : after.lines[at].line_end;
	if (at + 1 == after.count && !after.ends)
		after.lines[at].line_end = line_end;
	if (trial->action == INSERT_LINE)
		random_text_insert(&after, at + 1, &trial->new);
	else if (trial->action == DELETE_LINE)
		random_text_delete(&after, at);
	else
		after.lines[at] = trial->new;
	random_text_write(&after, out);
}

static void
damage(struct trial *trial)
{
	struct buffer bad = BUFFER_EMPTY;
	const char *text = buffer_text(&trial->old), *at;

	switch (trial->flaw) {
	case TYPO:
		at = text + strspn(text, " \t\n");
		buffer_append(&bad, text, (size_t)(at - text));
		buffer_append_text(&bad, "qQ");
		buffer_append_text(&bad, at);
		break;
	case LINE_NUMBERS:
		buffer_printf(&bad, "17|%s", text);
		break;
	case LINE_LEFT_OUT:
		buffer_printf(&bad, "%s\nnot_in_this_file();\n", text);
		break;
	case ESCAPED_QUOTES:
		buffer_printf(&bad, "print(\\\"%s\\\")", text);
		break;
	default:
		buffer_printf(&bad, "twin_of(%s)", text);
		break;
	}
	buffer_free(&trial->old);
	trial->old = bad;
}

static void
append_marked(struct buffer *patch, const struct buffer *text, char mark)
{
	const char *line = buffer_text(text), *end;

	for (; *line != '\0'; line = *end == '\0' ? end : end + 1) {
		end = line + strcspn(line, "\n");
		buffer_append_byte(patch, mark);
		buffer_append(patch, line, (size_t)(end - line));
		buffer_append_byte(patch, '\n');
	}
}

/* The same as a hunk: what is equal in both is not told from what is not, which is allowed. */
static void
run_trial(struct trial *trial)
{
	struct buffer text = BUFFER_EMPTY;

	seen("f");
	if (trial->v4a) {
		buffer_append_text(&text, "*** Begin Patch\n*** Update File: f\n@@\n");
		append_marked(&text, &trial->old, '-');
		append_marked(&text, &trial->wanted, '+');
		buffer_append_text(&text, "*** End Patch\n");
		patch(buffer_text(&text));
	} else {
		replace("f", buffer_text(&trial->old), buffer_text(&trial->wanted));
	}
	finish();
	buffer_free(&text);
}

static bool
same(const struct buffer *a, const struct buffer *b)
{
	return a->length == b->length && memcmp(buffer_text(a), buffer_text(b), a->length) == 0;
}

static void
read_back(struct buffer *now)
{
	int fd = open(at("f"), O_RDONLY);

	assert_int_not_equal(fd, -1);
	assert_int_equal(fd_read_all(fd, now, 1 << 20), 0);
	close(fd);
}

static void
explain(const struct trial *trial, const struct buffer *now, size_t number, const char *what)
{
	const struct {
		const char *name;
		const struct buffer *text;
	} parts[] = {{"before", &trial->before}, {"old", &trial->old}, {"new", &trial->wanted},
	    {"meant", &trial->after}, {"is", now}};
	struct json_object *text;
	size_t i;

	/* One by one: a message of cmocka is cut. */
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		text = json_object_new_string(buffer_text(parts[i].text));
		print_error("%s %s\n", parts[i].name, json_text(text, NULL));
		json_object_put(text);
	}
	print_error("result %s\n", json_text(session.result, NULL));
	fail_msg("case %zu: %s (action %d, flaw %d, %s, view %u)", number, what,
	    (int)trial->action, (int)trial->flaw, trial->v4a ? "V4A" : "replace",
	    trial->view.flags);
}

/* Blanks before an open end may be the beginning of something, so they count. */
static bool
ends_in_blanks(const struct buffer *old)
{
	return old->length > 0 && strchr(" \t", old->data[old->length - 1]) != NULL;
}

/* What a refusal says is so. */
static const char *
untrue(struct trial *trial, size_t places)
{
	const char *error = json_member_text(session.result, "error", "");

	if (trial->text.foreign)
		return strstr(error, "not UTF-8") != NULL || strstr(error, "UTF-16") != NULL
			   ? NULL
			   : "the encoding is not named";
	if (trial->flaw != FLAWLESS)
		return NULL;
	if (strstr(error, "times") != NULL) {
		ambiguous++;
		return places > 1 ? NULL : "said to occur several times";
	}
	if (strstr(error, "not found") != NULL)
		return "said not to be there";
	return (trial->view.flags & (RANDOM_VIEW_INDENT | RANDOM_VIEW_ASCII)) != 0
		   ? NULL
		   : "refused without need";
}

/* The old text is what the file has, to the byte. */
static bool
as_it_is(const struct trial *trial)
{
	size_t i;

	for (i = trial->first; i < trial->first + trial->count; i++)
		if (strcmp(trial->text.lines[i].line_end, "\n") != 0)
			return false;
	return trial->view.flags == 0;
}

static void
judge(struct trial *trial, size_t number)
{
	static const char *const line_ends[] = {"\n", "\r\n"};
	struct buffer now = BUFFER_EMPTY;
	size_t places = random_text_places(&trial->text, trial->first, trial->count), i;
	bool meant = false;
	const char *wrong = NULL;

	read_back(&now);
	for (i = 0; i < 2 && !meant; i++) {
		buffer_clear(&trial->after);
		write_after(trial, line_ends[i], &trial->after);
		meant = same(&now, &trial->after) &&
			random_text_has_end(&trial->text, line_ends[i]);
	}
	if (same(&now, &trial->before)) {
		refused += trial->flaw == FLAWLESS;
		flawed += trial->flaw != FLAWLESS;
		/* A new text that is there already is a success that says so. */
		if (session.failed)
			wrong = untrue(trial, places);
		else if (trial->flaw == FLAWLESS ||
			 !json_member_boolean(session.result, "no_change", false))
			wrong = "success without a change";
	} else if (trial->flaw != FLAWLESS || trial->text.foreign) {
		wrong = "an edit that does not fit was made";
	} else if (session.failed) {
		wrong = "changed and said to have failed";
	} else if (!meant && places > 1 && !as_it_is(trial)) {
		elsewhere++; /* what the model sent fits better in another place */
	} else if (!meant) {
		wrong = "something else than what was meant";
	} else {
		done++;
	}
	if (wrong != NULL)
		explain(trial, &now, number, wrong);
	buffer_free(&now);
}

static void
one_case(uint64_t *seed, size_t number)
{
	struct trial trial = {.seed = seeded_random_next(seed), .flaw = FLAWLESS};

	random_text_make(&trial.text, &trial.seed);
	trial.view.flags = (unsigned)below(&trial, RANDOM_VIEW_ALL + 1);
	trial.view.shift = 1 + below(&trial, 2);
	trial.v4a = below(&trial, 2) == 0;
	if (below(&trial, 4) == 0)
		trial.flaw = (enum flaw)below(&trial, FLAWS);
	choose_passage(&trial);
	choose_line(&trial);
	write_passage(&trial);
	if (trial.flaw != FLAWLESS)
		damage(&trial);
	random_text_write(&trial.text, &trial.before);
	scratch_put(at("f"), buffer_text(&trial.before), trial.before.length);
	if (strspn(buffer_text(&trial.old), " \t\r\n") < trial.old.length &&
	    !ends_in_blanks(&trial.old)) {
		run_trial(&trial);
		judge(&trial, number);
	}
	buffer_free(&trial.old);
	buffer_free(&trial.wanted);
	buffer_free(&trial.before);
	buffer_free(&trial.after);
}

static void
test_random_edits(void **state)
{
	uint64_t seed = seeded_random_start("HERMES_TEST_SEED", 7);
	size_t cases = seeded_random_count("HERMES_TEST_CASES", CASES), i;

	(void)state;
	for (i = 0; i < cases; i++)
		one_case(&seed, i);
	print_message(
	    "%zu cases: %zu as meant, %zu refused (%zu of them ambiguous), %zu flawed "
	    "and untouched\n",
	    cases, done, refused, ambiguous, flawed);
	assert_true(elsewhere <= cases / 50);
	assert_true(cases < 1000 || (done > cases / 2 && ambiguous > 0 && flawed > cases / 10));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    EDIT_CASE(test_random_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
