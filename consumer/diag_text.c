/*
 * diag_text.c - see diag_text.h.
 */
#include "consumer/diag_text.h"

#include <math.h>

#include "shared/decimal.h"

#define TOKEN_ROOM 64                  /* enough for every token but a string */

void diag_text_init(struct diag_text *diag, bool quoted)
{
	diag->quoted = quoted;
	diag->unopened = false;
	diag->separator = "";
}

static void write_quote(struct diag_text *diag, struct text_out *text)
{
	text_out_string(text, diag->quoted ? "\\\"" : "\"");
}

static void write_text(struct diag_text *diag, struct text_out *text,
                       const struct cbor_token *token)
{
	write_quote(diag, text);
	text_out_escaped(text, token->data, token->length, diag->quoted);
	text_out_need(text, TOKEN_ROOM);
	write_quote(diag, text);
}

static void write_bytes(struct text_out *text, const struct cbor_token *token)
{
	text_out_string(text, "h'");
	text_out_hex(text, token->data, token->length);
	text_out_need(text, TOKEN_ROOM);
	text_out_char(text, '\'');
}

static void write_simple(struct text_out *text, uint64_t number)
{
	static const char *const names[] = { "false", "true", "null", "undefined" };

	if (number >= 20 && number <= 23) {
		text_out_string(text, names[number - 20]);
		return;
	}
	text_out_string(text, "simple(");
	text->next = text_put_number(text->next, number);
	text_out_char(text, ')');
}

static void write_float(struct text_out *text, double real)
{
	if (isnan(real))
		text_out_string(text, "NaN");
	else if (isinf(real))
		text_out_string(text, real < 0 ? "-Infinity" : "Infinity");
	else
		text->next += decimal_from_double(real, text->next);
}

static void write_token(struct diag_text *diag, struct text_out *text,
                        const struct cbor_token *token)
{
	switch (token->kind) {
	case CBOR_UNSIGNED:
		text->next = text_put_number(text->next, token->number);
		break;
	case CBOR_NEGATIVE:
		text->next = text_put_negative(text->next, token->number);
		break;
	case CBOR_BYTES:
		write_bytes(text, token);
		break;
	case CBOR_TEXT:
		write_text(diag, text, token);
		break;
	case CBOR_BYTES_START:
	case CBOR_TEXT_START:
		diag->unopened = true;
		break;
	case CBOR_ARRAY:
		text_out_string(text, token->indefinite ? "[_ " : "[");
		if (!token->indefinite && token->number == 0)
			text_out_char(text, ']');
		break;
	case CBOR_MAP:
		text_out_string(text, token->indefinite ? "{_ " : "{");
		if (!token->indefinite && token->number == 0)
			text_out_char(text, '}');
		break;
	case CBOR_TAG:
		text->next = text_put_number(text->next, token->number);
		text_out_char(text, '(');
		break;
	case CBOR_SIMPLE:
		write_simple(text, token->number);
		break;
	case CBOR_FLOAT:
		write_float(text, token->real);
		break;
	case CBOR_BREAK:
		break;
	}
}

static void close_level(struct diag_text *diag, struct text_out *text, enum cbor_kind kind)
{
	switch (kind) {
	case CBOR_ARRAY:
		text_out_char(text, ']');
		break;
	case CBOR_MAP:
		text_out_char(text, '}');
		break;
	case CBOR_BYTES_START:
	case CBOR_TEXT_START:
		if (!diag->unopened) {
			text_out_char(text, ')');
		} else if (kind == CBOR_TEXT_START) {
			write_quote(diag, text);
			write_quote(diag, text);
			text_out_char(text, '_');
		} else {
			text_out_string(text, "''_");
		}
		diag->unopened = false;
		break;
	default:
		text_out_char(text, ')');
		break;
	}
}

void diag_text_token(struct diag_text *diag, struct text_out *text,
                     const struct cbor_walker *walker, const struct cbor_token *token,
                     unsigned before, unsigned base)
{
	const struct cbor_level *level = &walker->levels[walker->depth];

	text_out_need(text, TOKEN_ROOM);
	if (token->kind != CBOR_BREAK) {
		text_out_string(text, diag->separator);
		if (diag->unopened) {
			text_out_string(text, "(_ ");
			diag->unopened = false;
		}
	}
	write_token(diag, text, token);
	diag->separator = "";
	if (walker->depth > before)
		return;

	for (unsigned depth = before; depth > walker->depth && depth > base; depth--) {
		text_out_need(text, TOKEN_ROOM);
		close_level(diag, text, walker->levels[depth].kind);
	}
	if (walker->depth > base)
		diag->separator = level->kind == CBOR_MAP && level->odd ? ": " : ", ";
}
