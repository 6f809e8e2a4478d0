/* cuts.c - records, cut and checksummed once. */
#include "bridge/cuts.h"

#include <stdbool.h>

int cuts_init(struct cuts *cuts)
{
	cuts->count = 0;
	return -pthread_mutex_init(&cuts->lock, NULL);
}

void cuts_destroy(struct cuts *cuts)
{
	pthread_mutex_destroy(&cuts->lock);
}

static struct cut *cut_numbered(struct cuts *cuts, uint64_t number)
{
	return &cuts->kept[number % CUTS_KEPT];
}

/* Positions grow with numbers. */
static const struct cut *cut_find(struct cuts *cuts, uint64_t position)
{
	uint64_t least = cuts->count > CUTS_KEPT ? cuts->count - CUTS_KEPT : 0;
	uint64_t after = cuts->count;

	while (least < after) {
		uint64_t middle = least + (after - least) / 2;
		const struct cut *cut = cut_numbered(cuts, middle);

		if (cut->position == position)
			return cut;
		if (cut->position < position)
			least = middle + 1;
		else
			after = middle;
	}
	return NULL;
}

static bool is_newest(struct cuts *cuts, uint64_t position)
{
	const struct cut *last;

	if (cuts->count == 0)
		return true;
	last = cut_numbered(cuts, cuts->count - 1);
	return position >= last->position + last->length;
}

int cuts_get(struct cuts *cuts, struct ring_reader *reader, const uint8_t *bytes, size_t available,
             struct cut *cut)
{
	uint64_t position = ring_reader_position(reader);
	const struct cut *found;
	int error = 0;

	pthread_mutex_lock(&cuts->lock);
	found = cut_find(cuts, position);
	if (found != NULL && found->length <= available) {
		*cut = *found;
	} else {
		cut->position = position;
		cut->length = (uint32_t)available;
		wire_record_encode(WIRE_DATA, position, bytes, cut->length, cut->head);
		error = ring_reader_check(reader);
		/* One that lies between others was cut by who went on after a
		 * broken connection: it is its own. */
		if (error == 0 && found == NULL && is_newest(cuts, position))
			*cut_numbered(cuts, cuts->count++) = *cut;
	}
	pthread_mutex_unlock(&cuts->lock);
	return error;
}
