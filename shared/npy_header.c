/*
 * npy_header.c - see npy_header.h.
 */
#include "shared/npy_header.h"

#include <stdio.h>
#include <string.h>

#define NESTING_MAX 32u                /* of records within records */
#define ALIGNMENT 64u                  /* of the data in files that are written */
#define GROWTH_DIGITS 21u              /* numpy leaves room for a longer shape */
#define SIZE_LIMIT (UINT64_MAX / 2)

static const uint8_t magic[6] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

/* ---- the prefix ----------------------------------------------------------- */

size_t npy_prefix_parse(const uint8_t *bytes, size_t there, unsigned *major, uint32_t *length,
                        const char **fault)
{
	size_t prefix;

	*fault = NULL;
	if (memcmp(bytes, magic, there < sizeof(magic) ? there : sizeof(magic)) != 0)
		*fault = "not a NumPy array file (no magic string)";
	else if (there < NPY_MAGIC_SIZE)
		*fault = "ends within the magic string";
	else if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		*fault = "a format version other than 1.0, 2.0 and 3.0";
	if (*fault != NULL)
		return 0;
	prefix = npy_prefix_size(bytes);
	if (there < prefix) {
		*fault = "ends within the header";
		return 0;
	}
	*major = bytes[6];
	*length = bytes[8] | (uint32_t)bytes[9] << 8;
	if (prefix == NPY_PREFIX_MAX)
		*length |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
	if (*length > NPY_HEADER_MAX) {
		*fault = "a header of more than 256 KiB";
		return 0;
	}
	return prefix;
}

/* ---- the text ------------------------------------------------------------- */

/* A place in the text.  After the first fault nothing more is taken. */
struct cursor {
	const char *start, *at, *end;
	const char *fault;
};

static void refuse(struct cursor *cursor, const char *fault)
{
	if (cursor->fault == NULL)
		cursor->fault = fault;
}

static bool is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

/* A fault keeps its place. */
static void skip_blanks(struct cursor *cursor)
{
	while (cursor->fault == NULL && cursor->at < cursor->end && is_blank(*cursor->at))
		cursor->at++;
}

/* Is this the next character?  Takes it. */
static bool take(struct cursor *cursor, char character)
{
	skip_blanks(cursor);
	if (cursor->fault != NULL || cursor->at == cursor->end || *cursor->at != character)
		return false;
	cursor->at++;
	return true;
}

static bool next_is(struct cursor *cursor, char character)
{
	skip_blanks(cursor);
	return cursor->fault == NULL && cursor->at < cursor->end && *cursor->at == character;
}

static void want(struct cursor *cursor, char character, const char *fault)
{
	if (!take(cursor, character))
		refuse(cursor, fault);
}

/* A string's inside, as it stands in the text, escapes and all. */
struct string {
	const char *bytes;
	size_t length;
};

static bool take_string(struct cursor *cursor, struct string *string)
{
	char quote;

	skip_blanks(cursor);
	if (cursor->fault != NULL)
		return false;
	if (cursor->at < cursor->end && *cursor->at == 'u')
		cursor->at++;                  /* as Python 2 wrote them */
	if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"')) {
		refuse(cursor, "expected a string");
		return false;
	}
	quote = *cursor->at++;
	string->bytes = cursor->at;
	for (; cursor->at < cursor->end && *cursor->at != quote; cursor->at++) {
		if ((unsigned char)*cursor->at < 0x20) {
			refuse(cursor, "a control character in a string");
			return false;
		}
		if (*cursor->at == '\\' && ++cursor->at == cursor->end)
			break;
	}
	string->length = (size_t)(cursor->at - string->bytes);
	if (cursor->at == cursor->end) {
		refuse(cursor, "a string without its end");
		return false;
	}
	cursor->at++;
	return true;
}

static bool string_is(const struct string *string, const char *word)
{
	return string->length == strlen(word) && memcmp(string->bytes, word, string->length) == 0;
}

/* An integer that is not negative. */
static bool take_size(struct cursor *cursor, uint64_t *size)
{
	const char *first;

	skip_blanks(cursor);
	if (cursor->fault != NULL)
		return false;
	first = cursor->at;
	*size = 0;
	for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
		unsigned digit = (unsigned)(*cursor->at - '0');

		if (*size > (SIZE_LIMIT - digit) / 10) {
			refuse(cursor, "a dimension that is too large");
			return false;
		}
		*size = *size * 10 + digit;
	}
	if (cursor->at == first || (*first == '0' && cursor->at - first > 1)) {
		cursor->at = first;
		refuse(cursor, "expected a dimension: an integer, not negative");
		return false;
	}
	if (cursor->at < cursor->end && *cursor->at == 'L')
		cursor->at++;                  /* as Python 2 wrote them */
	return true;
}

/* A tuple of sizes: "()", "(3,)", "(3, 4)".  @sizes  NPY_DIMENSIONS_MAX. */
static void take_tuple(struct cursor *cursor, uint64_t *sizes, uint32_t *count)
{
	*count = 0;
	want(cursor, '(', "expected a shape: a tuple of integers");
	while (cursor->fault == NULL && !take(cursor, ')')) {
		if (*count == NPY_DIMENSIONS_MAX) {
			refuse(cursor, "more than 64 dimensions");
			return;
		}
		if (!take_size(cursor, &sizes[*count]))
			return;
		++*count;
		if (take(cursor, ','))
			continue;
		/* "(3)" is no tuple, but an integer. */
		if (*count == 1 || !next_is(cursor, ')'))
			refuse(cursor, "expected a comma in a shape");
	}
}

/* ---- types ------------------------------------------------------------------ */

/* What a type takes, and what it is if it is a plain number. */
struct type {
	enum npy_kind kind;
	bool big_endian;
	uint64_t size;
};

static bool host_is_big_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

static bool is_one_of(uint64_t size, const uint8_t *sizes)
{
	while (*sizes != 0 && *sizes != size)
		sizes++;
	return *sizes != 0;
}

/* "[D]", "[25s]", or nothing. */
static bool is_time_unit(const char *at, const char *end)
{
	if (at == end)
		return true;
	if (end - at < 3 || *at != '[' || end[-1] != ']')
		return false;
	for (at++; at < end - 1; at++)
		if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
		      (*at >= 'A' && *at <= 'Z') || *at == '/'))
			return false;
	return true;
}

/* A number's digits, at most nine of them. */
static const char *digits_take(const char *at, const char *end, uint64_t *number)
{
	const char *first = at;

	*number = 0;
	for (; at < end && at - first < 9 && *at >= '0' && *at <= '9'; at++)
		*number = *number * 10 + (uint64_t)(*at - '0');
	return at == first ? NULL : at;
}

/* "<f8" and the like. */
static const char *plain_type(const struct string *string, struct type *type)
{
	static const uint8_t integers[] = { 1, 2, 4, 8, 0 }, floats[] = { 2, 4, 8, 10, 12, 16, 0 },
		complexes[] = { 8, 16, 20, 24, 32, 0 };
	static const char unknown[] = "a type that NumPy does not have";
	const char *at = string->bytes, *end = at + string->length;
	char order = '|', letter;
	bool good = true;

	if (at < end && memchr("<>|=", *at, 4))
		order = *at++;
	if (at == end)
		return unknown;
	letter = *at++;
	if (letter == 'O')
		return "an array of Python objects (a pickle)";
	type->big_endian = order == '>' || (order != '<' && host_is_big_endian());
	type->kind = NPY_OTHER;
	if (letter == '?' && at == end) {
		type->kind = NPY_BOOL;
		type->size = 1;
		return NULL;
	}
	at = digits_take(at, end, &type->size);
	if (at == NULL)
		return unknown;
	switch (letter) {
	case 'b':
		type->kind = NPY_BOOL;
		good = type->size == 1;
		break;
	case 'i':
	case 'u':
		type->kind = letter == 'i' ? NPY_SIGNED : NPY_UNSIGNED;
		good = is_one_of(type->size, integers);
		break;
	case 'f':
		good = is_one_of(type->size, floats);
		type->kind = type->size <= 8 ? NPY_FLOAT : NPY_OTHER;
		break;
	case 'c':
		good = is_one_of(type->size, complexes);
		type->kind = type->size <= 16 ? NPY_COMPLEX : NPY_OTHER;
		break;
	case 'M':
	case 'm':
		return type->size == 8 && is_time_unit(at, end) ? NULL : unknown;
	case 'U':
		type->size *= 4;
		break;
	case 'S':
	case 'a':
	case 'V':
		break;
	default:
		good = false;
	}
	return good && at == end ? NULL : unknown;
}

static void take_type(struct cursor *cursor, struct type *type, unsigned depth);

/* So many of them, each of the type's size. */
static void type_multiply(struct cursor *cursor, struct type *type, uint64_t count)
{
	type->kind = NPY_OTHER;
	if (__builtin_mul_overflow(type->size, count, &type->size) || type->size > SIZE_LIMIT)
		refuse(cursor, "a type that is too large");
}

/* The shape of a field: a tuple, or one integer. */
static void take_subshape(struct cursor *cursor, struct type *type)
{
	uint64_t sizes[NPY_DIMENSIONS_MAX];
	uint32_t count = 1;

	if (next_is(cursor, '('))
		take_tuple(cursor, sizes, &count);
	else
		take_size(cursor, &sizes[0]);
	for (uint32_t i = 0; i < count && cursor->fault == NULL; i++)
		type_multiply(cursor, type, sizes[i]);
}

/* ('name', type), ('name', type, shape), (('title', 'name'), type). */
static void take_field(struct cursor *cursor, struct type *type, unsigned depth)
{
	struct string name;

	want(cursor, '(', "expected a field: a tuple of name and type");
	if (take(cursor, '(')) {
		take_string(cursor, &name);
		want(cursor, ',', "expected a comma");
		take_string(cursor, &name);
		want(cursor, ')', "expected the end of a name");
	} else {
		take_string(cursor, &name);
	}
	want(cursor, ',', "expected a comma");
	take_type(cursor, type, depth + 1);
	if (take(cursor, ',') && !next_is(cursor, ')')) {
		take_subshape(cursor, type);
		take(cursor, ',');
	}
	want(cursor, ')', "expected the end of a field");
}

static void take_record(struct cursor *cursor, struct type *type, unsigned depth)
{
	struct type field = { NPY_OTHER, false, 0 };
	uint64_t size = 0;

	while (cursor->fault == NULL && !take(cursor, ']')) {
		take_field(cursor, &field, depth);
		if (cursor->fault == NULL &&
		    (__builtin_add_overflow(size, field.size, &size) || size > SIZE_LIMIT))
			refuse(cursor, "a type that is too large");
		if (!take(cursor, ',') && !next_is(cursor, ']'))
			refuse(cursor, "expected a comma between fields");
	}
	*type = (struct type){ NPY_OTHER, false, size };
}

/* A string, a list of fields, or a tuple of type and shape. */
static void take_type(struct cursor *cursor, struct type *type, unsigned depth)
{
	struct string string;
	const char *fault;

	if (depth > NESTING_MAX) {
		refuse(cursor, "records nested too deep");
	} else if (take(cursor, '[')) {
		take_record(cursor, type, depth);
	} else if (take(cursor, '(')) {
		take_type(cursor, type, depth + 1);
		want(cursor, ',', "expected a comma");
		take_subshape(cursor, type);
		take(cursor, ',');
		want(cursor, ')', "expected the end of a type");
	} else if (take_string(cursor, &string)) {
		fault = plain_type(&string, type);
		if (fault != NULL) {
			cursor->at = string.bytes;
			refuse(cursor, fault);
		}
	}
}

/* Is the type more than a word? */
static bool is_composed(const char *descr, size_t length)
{
	return length > 0 && (*descr == '[' || *descr == '(');
}

static void type_set(struct npy_header *header, const struct type *type, const char *descr,
                     size_t length)
{
	header->descr = descr;
	header->descr_length = length;
	header->kind = type->kind;
	header->big_endian = type->big_endian && type->size > 1;
	header->item_size = type->size;
}

static void take_descr(struct cursor *cursor, struct npy_header *header)
{
	struct type type = { NPY_OTHER, false, 0 };
	const char *first;

	skip_blanks(cursor);
	first = cursor->at;
	take_type(cursor, &type, 0);
	if (cursor->fault != NULL)
		return;
	if (is_composed(first, (size_t)(cursor->at - first))) {
		type_set(header, &type, first, (size_t)(cursor->at - first));
		return;
	}
	first += *first == 'u';
	type_set(header, &type, first + 1, (size_t)(cursor->at - first) - 2);
}

/* ---- the dictionary ------------------------------------------------------------ */

static void take_bool(struct cursor *cursor, bool *value)
{
	size_t left;

	skip_blanks(cursor);
	left = (size_t)(cursor->end - cursor->at);
	if (left >= 4 && memcmp(cursor->at, "True", 4) == 0) {
		*value = true;
		cursor->at += 4;
	} else if (left >= 5 && memcmp(cursor->at, "False", 5) == 0) {
		*value = false;
		cursor->at += 5;
	} else {
		refuse(cursor, "fortran_order is neither True nor False");
	}
}

/* One key and its value; @seen  bits of the keys that were there. */
static void take_pair(struct cursor *cursor, struct npy_header *header, unsigned *seen)
{
	static const char *const keys[] = { "descr", "fortran_order", "shape" };
	struct string key;
	unsigned i;

	if (!take_string(cursor, &key))
		return;
	for (i = 0; i < 3 && !string_is(&key, keys[i]); i++)
		;
	if (i == 3 || *seen & 1u << i) {
		cursor->at = key.bytes;
		refuse(cursor, i == 3 ? "a key other than descr, fortran_order and shape"
		                      : "a key that occurs twice");
		return;
	}
	*seen |= 1u << i;
	want(cursor, ':', "expected a colon");
	if (cursor->fault != NULL)
		return;
	if (i == 0)
		take_descr(cursor, header);
	else if (i == 1)
		take_bool(cursor, &header->fortran);
	else
		take_tuple(cursor, header->shape, &header->dimensions);
}

bool npy_header_measure(struct npy_header *header)
{
	bool empty = false;

	header->elements = 1;
	for (uint32_t i = 0; i < header->dimensions; i++) {
		if (header->shape[i] > SIZE_LIMIT)
			return false;
		empty = empty || header->shape[i] == 0;
	}
	for (uint32_t i = 0; i < header->dimensions && !empty; i++)
		if (__builtin_mul_overflow(header->elements, header->shape[i], &header->elements) ||
		    header->elements > SIZE_LIMIT)
			return false;
	if (empty)
		header->elements = 0;
	return !__builtin_mul_overflow(header->elements, header->item_size, &header->data_size) &&
	       header->data_size <= SIZE_LIMIT;
}

static const char *conclude(struct cursor *cursor, size_t *at)
{
	skip_blanks(cursor);
	if (cursor->at != cursor->end)
		refuse(cursor, "something after the header's end");
	*at = (size_t)(cursor->at - cursor->start);
	return cursor->fault;
}

const char *npy_header_parse(const char *text, size_t length, struct npy_header *header, size_t *at)
{
	struct cursor cursor = { text, text, text + length, NULL };
	unsigned seen = 0;

	memset(header, 0, sizeof(*header));
	want(&cursor, '{', "the header is no dictionary");
	while (cursor.fault == NULL && !take(&cursor, '}')) {
		take_pair(&cursor, header, &seen);
		if (!take(&cursor, ',') && !next_is(&cursor, '}'))
			refuse(&cursor, "expected a comma in the header");
	}
	if (cursor.fault == NULL && seen != 7)
		refuse(&cursor, "descr, fortran_order or shape is missing");
	if (cursor.fault == NULL && !npy_header_measure(header))
		refuse(&cursor, "a shape that is too large");
	return conclude(&cursor, at);
}

const char *npy_descr_parse(const char *text, size_t length, struct npy_header *header)
{
	struct cursor cursor = { text, text, text + length, NULL };
	struct string word = { text, length };
	struct type type = { NPY_OTHER, false, 0 };
	const char *fault;
	size_t at;

	if (is_composed(text, length)) {
		take_type(&cursor, &type, 0);
		fault = conclude(&cursor, &at);
	} else {
		fault = plain_type(&word, &type);
	}
	type_set(header, &type, text, length);
	return fault;
}

/* ---- writing ------------------------------------------------------------------ */

size_t npy_plain_descr(const struct npy_header *header, char *out)
{
	static const char letters[] = { [NPY_BOOL] = 'b', [NPY_SIGNED] = 'i', [NPY_UNSIGNED] = 'u',
	                                [NPY_FLOAT] = 'f', [NPY_COMPLEX] = 'c' };
	char order = '|';

	if (header->item_size > 1)
		order = header->big_endian ? '>' : '<';
	return (size_t)snprintf(out, NPY_PLAIN_DESCR_MAX, "%c%c%u", order, letters[header->kind],
	                        (unsigned)header->item_size % 100);
}

/* As much of a header's text as depends on the shape; returns its end. */
static char *put_shape(char *out, const struct npy_header *header)
{
	unsigned growing = header->fortran ? header->dimensions - 1 : 0, digits = 0;

	out += sprintf(out, ", 'fortran_order': %s, 'shape': (", header->fortran ? "True" : "False");
	for (uint32_t i = 0; i < header->dimensions; i++) {
		int written = sprintf(out, i == 0 ? "%llu" : ", %llu",
		                      (unsigned long long)header->shape[i]);

		if (i == growing)
			digits = (unsigned)written - (i == 0 ? 0 : 2);
		out += written;
	}
	out += sprintf(out, header->dimensions == 1 ? ",), }" : "), }");
	for (; digits > 0 && digits < GROWTH_DIGITS; digits++)
		*out++ = ' ';
	return out;
}

static bool is_ascii(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)bytes[i] > 0x7f)
			return false;
	return true;
}

size_t npy_header_write(const struct npy_header *header, uint8_t *out)
{
	bool ascii = is_ascii(header->descr, header->descr_length);
	const char *quote = is_composed(header->descr, header->descr_length) ? "" : "'";
	char *text = (char *)out + NPY_PREFIX_MAX, *end = text;
	size_t length, prefix = 10;

	end += sprintf(end, "{'descr': %s", quote);
	memcpy(end, header->descr, header->descr_length);
	end += header->descr_length;
	end += sprintf(end, "%s", quote);
	end = put_shape(end, header);
	/* As numpy pads: to a full line more, if it is aligned. */
	length = (size_t)(end - text) + 1;
	if (!ascii || length + ALIGNMENT > UINT16_MAX)
		prefix = NPY_PREFIX_MAX;
	else
		memmove(out + prefix, text, (size_t)(end - text));
	text = (char *)out + prefix;
	memset(text + length - 1, ' ', ALIGNMENT - (prefix + length) % ALIGNMENT);
	length += ALIGNMENT - (prefix + length) % ALIGNMENT;
	text[length - 1] = '\n';
	memcpy(out, magic, sizeof(magic));
	out[6] = prefix == 10 ? 1 : ascii ? 2 : 3;
	out[7] = 0;
	out[8] = (uint8_t)length;
	out[9] = (uint8_t)(length >> 8);
	if (prefix == NPY_PREFIX_MAX) {
		out[10] = (uint8_t)(length >> 16);
		out[11] = (uint8_t)(length >> 24);
	}
	return prefix + length;
}
