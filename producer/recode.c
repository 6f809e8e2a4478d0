/* recode.c - see recode.h.  The encodings are iconv's. */
#include "producer/recode.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_SIZE (64u << 10)

struct recode {
	iconv_t converter;
	size_t unit;                   /* bytes of the smallest character: what a bad one is skipped by */
	bool ended;                    /* the input is at its end */
	bool reset;                    /* and the converter has given what it held back */
	char *next;                    /* bytes that were not converted yet */
	size_t left;
	char buffer[BUFFER_SIZE];
};

#define NO_CONVERTER ((iconv_t)-1)

bool recode_knows(const char *encoding)
{
	iconv_t converter = iconv_open("UTF-8", encoding);

	if (converter == NO_CONVERTER)
		return false;
	iconv_close(converter);
	return true;
}

/* How long is one letter, if it is not the first, before which a mark may stand? */
static size_t unit_of(const char *encoding)
{
	iconv_t converter = iconv_open(encoding, "UTF-8");
	size_t unit = 1, in = 1, left;
	char letters[2] = "AA", bytes[32], *from = letters, *to = bytes;

	if (converter == NO_CONVERTER)
		return 1;
	left = sizeof(bytes);
	if (iconv(converter, &from, &in, &to, &left) != (size_t)-1) {
		size_t before = left;

		in = 1;
		if (iconv(converter, &from, &in, &to, &left) != (size_t)-1 && before > left)
			unit = before - left;
	}
	iconv_close(converter);
	return unit;
}

int recode_open(struct recode **recode, const char *encoding)
{
	struct recode *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->converter = iconv_open("UTF-8", encoding);
	if (made->converter == NO_CONVERTER) {
		free(made);
		return -EINVAL;
	}
	made->unit = unit_of(encoding);
	made->next = made->buffer;
	*recode = made;
	return 0;
}

void recode_close(struct recode *recode)
{
	if (recode == NULL)
		return;
	iconv_close(recode->converter);
	free(recode);
}

/* More bytes behind those that are left.  Returns 0 or -errno. */
static int more(struct recode *recode, struct input *input)
{
	ssize_t got;

	memmove(recode->buffer, recode->next, recode->left);
	recode->next = recode->buffer;
	input_settle(input, true);
	got = input_take(input, recode->buffer + recode->left, BUFFER_SIZE - recode->left);
	if (got < 0)
		return (int)got;
	recode->ended = got == 0;
	recode->left += (size_t)got;
	return 0;
}

/* What is at hand begins with no character. */
static void skip_bad(struct recode *recode, char **to, size_t *room)
{
	size_t unit = recode->unit < recode->left ? recode->unit : recode->left;

	recode->next += unit;
	recode->left -= unit;
	*(*to)++ = RECODE_BAD;
	--*room;
}

ssize_t recode_take(struct recode *recode, struct input *input, char *to, size_t length)
{
	char *start = to;

	/* Whatever there is may be waited for: one piece is enough. */
	while (to == start && !(recode->ended && recode->left == 0 && recode->reset)) {
		size_t room = length;
		bool cut = false;
		int error;

		if (recode->left > 0 && iconv(recode->converter, &recode->next, &recode->left, &to, &room) ==
		    (size_t)-1) {
			cut = errno == EINVAL;
			if ((errno == EILSEQ || (cut && recode->ended)) && room > 0)
				skip_bad(recode, &to, &room);
		}
		if (recode->left == 0 && recode->ended && !recode->reset && room >= 16) {
			iconv(recode->converter, NULL, NULL, &to, &room);
			recode->reset = true;
		}
		if (to == start && !recode->ended && (recode->left == 0 || cut)) {
			error = more(recode, input);
			if (error != 0)
				return error;
		}
	}
	return to - start;
}
