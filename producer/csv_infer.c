/* csv_infer.c - see csv_infer.h. */
#include "producer/csv_infer.h"

#include <stdbool.h>
#include <string.h>

#include "shared/cbor_put.h"
#include "shared/decimal.h"

#define EXPONENT_DIGITS_MAX 18

static const char *digits_skip(const char *at, const char *end)
{
	while (at < end && (unsigned)(*at - '0') < 10)
		at++;
	return at;
}

/* JSON's grammar. */
static bool is_number(const char *at, const char *end)
{
	const char *digits;

	at += *at == '-';
	digits = at;
	at = digits_skip(at, end);
	if (at == digits || (*digits == '0' && at - digits > 1))
		return false;
	if (at < end && *at == '.') {
		digits = ++at;
		at = digits_skip(at, end);
		if (at == digits)
			return false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		digits = at;
		at = digits_skip(at, end);
		if (at == digits || at - digits > EXPONENT_DIGITS_MAX)
			return false;
	}
	return at == end;
}

size_t csv_infer(const char *text, size_t length, uint8_t *out)
{
	if (length == 0) {
		out[0] = CBOR_BYTE_NULL;
		return 1;
	}
	switch (text[0]) {
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		if (length > CSV_INFER_MAX || !is_number(text, text + length))
			return 0;
		return decimal_to_cbor(text, length, out);
	case 't':
		out[0] = CBOR_BYTE_TRUE;
		return length == 4 && memcmp(text, "true", 4) == 0;
	case 'f':
		out[0] = CBOR_BYTE_FALSE;
		return length == 5 && memcmp(text, "false", 5) == 0;
	default:
		return 0;
	}
}
