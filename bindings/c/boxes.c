// SPDX-License-Identifier: Apache-2.0

/* boxes.c: batches, and their users. */

#include "library.h"

_Thread_local const tagbus_box *on_loop_now;

/* Boxes are in slabs, each twice as large as the one before, and are never handed back: so it can be
 * told whether an address is that of a box, and whether the box is in use. */
#define FIRST_SLAB 64
#define SLABS 20

static pthread_mutex_t boxes_lock = PTHREAD_MUTEX_INITIALIZER;
static tagbus_box *slabs[SLABS];
static tagbus_box *free_first, *free_last;

static size_t slab_size(int i) { return (size_t)FIRST_SLAB << i; }

/* box_of returns the box of a batch, NULL if there is none at the address. */
static tagbus_box *box_of(const tagbus_batch *batch)
{
	uintptr_t at = (uintptr_t)batch;
	int i;
	for (i = 0; i < SLABS; i++) {
		tagbus_box *slab = LOAD(slabs[i]);
		uintptr_t begin = (uintptr_t)slab;
		if (slab == NULL)
			break;
		if (at >= begin && at < begin + slab_size(i) * sizeof *slab)
			return (at - begin) % sizeof *slab == 0 ? slab + (at - begin) / sizeof *slab : NULL;
	}
	return NULL;
}

/* grow adds a slab. boxes_lock is held. */
static int grow(void)
{
	int i = 0;
	size_t n;
	tagbus_box *slab;
	while (i < SLABS && slabs[i] != NULL)
		i++;
	if (i == SLABS || (slab = calloc(slab_size(i), sizeof *slab)) == NULL)
		return 0;
	for (n = 0; n + 1 < slab_size(i); n++)
		slab[n].next = &slab[n + 1];
	free_first = slab;
	free_last = &slab[slab_size(i) - 1];
	STORE(slabs[i], slab);
	return 1;
}

/* Room for messages that is free, the newest first: it is in the cache of the processor. Boxes go round
 * all, so rows of their own would push everything else out of the cache. */
typedef struct rows {
	struct rows *next;
	size_t room; /* of messages */
} rows;

static rows *free_rows; /* boxes_lock is held */
static int rows_kept;

#define KEPT_ROWS 64
#define KEPT_MESSAGES 8192 /* of rows */

/* rows_take gives the newest rows to a box. boxes_lock is held. */
static void rows_take(tagbus_box *b)
{
	rows *newest = free_rows;
	if (newest == NULL)
		return;
	free_rows = newest->next;
	rows_kept--;
	b->room = newest->room;
	b->messages = (tagbus_message *)(void *)newest;
}

/* rows_leave takes the rows of a box back. boxes_lock is held. */
static void rows_leave(tagbus_box *b)
{
	rows *newest = (rows *)(void *)b->messages;
	if (newest != NULL && b->room <= KEPT_MESSAGES && rows_kept < KEPT_ROWS) {
		newest->room = b->room;
		newest->next = free_rows;
		free_rows = newest;
		rows_kept++;
	} else {
		free(newest);
	}
	b->room = 0;
	b->messages = NULL;
	b->batch.messages = NULL;
	b->batch.count = 0;
}

static void no_memory(void)
{
	fputs("libtagbus: out of memory for messages that have arrived\n", stderr);
	abort();
}

tagbus_box *box_new(size_t messages, int ids)
{
	tagbus_box *b;
	pthread_mutex_lock(&boxes_lock);
	if (free_first == NULL && !grow())
		no_memory();
	b = free_first;
	free_first = b->next;
	rows_take(b);
	pthread_mutex_unlock(&boxes_lock);
	b->next = NULL;
	if (b->room < messages) {
		free(b->messages);
		b->room = messages < 16 ? 16 : messages;
		if ((b->messages = malloc(b->room * sizeof *b->messages)) == NULL)
			no_memory();
	}
	if (ids && (b->ids = calloc(messages, 16)) == NULL)
		no_memory();
	b->batch.messages = b->messages;
	b->batch.count = messages;
	b->batch.publisher = b->publisher;
	b->token = 0;
	b->kept = b->on_loop = 0;
	STORE(b->users, 1);
	given(b);
	return b;
}

/* box_release takes a user off, and returns 0 if there was none. */
static int box_release(tagbus_box *b)
{
	int n = LOAD(b->users);
	given(b);
	do {
		if (n <= 0)
			return 0;
	} while (!__atomic_compare_exchange_n(&b->users, &n, n - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	if (n > 1)
		return 1;
	taken(b);
	core.box_free(b->token);
	free(b->ids);
	b->ids = NULL;
	pthread_mutex_lock(&boxes_lock);
	rows_leave(b);
	/* To the end: what was released is found to be for long. */
	b->next = NULL;
	if (free_first == NULL)
		free_first = b;
	else
		free_last->next = b;
	free_last = b;
	pthread_mutex_unlock(&boxes_lock);
	return 1;
}

void box_drop(tagbus_box *b) { (void)box_release(b); }

static tagbus_box *box_arg(const char *function, const tagbus_batch *batch)
{
	tagbus_box *b;
	if (usable(function) != 0)
		return NULL;
	b = box_of(batch);
	if (b == NULL || LOAD(b->users) <= 0) {
		say(TAGBUS_EINVAL, "%s: batch is %s", function,
			batch == NULL ? "NULL" : b == NULL ? "none of this library" : "released");
		return NULL;
	}
	return b;
}

static int box_keep(tagbus_box *b)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads of a program may keep a batch at once */
	int code = 0;
	if (LOAD(b->kept))
		return 0;
	if (b->on_loop && on_loop_now != b) {
		return say(TAGBUS_EINVAL, "tagbus_batch_retain: batch is that of a callback with --on-loop, which has to retain it itself: "
			"call it in the callback, and hand the batch over");
	}
	pthread_mutex_lock(&lock);
	if (!LOAD(b->kept) && (code = core.box_keep(b, &said)) == 0)
		STORE(b->kept, 1);
	pthread_mutex_unlock(&lock);
	return code;
}

int tagbus_batch_retain(const tagbus_batch *batch)
{
	tagbus_box *b = box_arg("tagbus_batch_retain", batch);
	int n, code;
	if (b == NULL)
		return said.code;
	if ((code = box_keep(b)) != 0)
		return code;
	n = LOAD(b->users);
	do {
		if (n <= 0)
			return say(TAGBUS_EINVAL, "tagbus_batch_retain: batch is released");
	} while (!__atomic_compare_exchange_n(&b->users, &n, n + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return TAGBUS_OK;
}

int tagbus_batch_release(const tagbus_batch *batch)
{
	tagbus_box *b = box_arg("tagbus_batch_release", batch);
	if (b == NULL)
		return said.code;
	return box_release(b) ? TAGBUS_OK : say(TAGBUS_EINVAL, "tagbus_batch_release: batch is released");
}

int tagbus_batch_request_id(const tagbus_batch *batch, size_t i, uint8_t id[16])
{
	tagbus_box *b = box_arg("tagbus_batch_request_id", batch);
	if (b == NULL)
		return said.code;
	if (id == NULL)
		return missing("tagbus_batch_request_id", "id");
	if (i >= b->batch.count) {
		return say(TAGBUS_EINVAL, "tagbus_batch_request_id: i is %zu, and the batch has %zu messages", i, b->batch.count);
	}
	if (b->ids == NULL || !(b->messages[i].flags & TAGBUS_REQUEST))
		return say(TAGBUS_EINVAL, "tagbus_batch_request_id: the message has no request id");
	memcpy(id, b->ids[i], 16);
	return TAGBUS_OK;
}
