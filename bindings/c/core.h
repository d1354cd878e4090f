// SPDX-License-Identifier: Apache-2.0

/* core.h: what libtagbus.so and libtagbus-core.so have of each other. It is no part of the API: both
 * come from one build, and each refuses the other one if TAGBUS_CORE_ABI differs. */

#ifndef TAGBUS_CORE_H
#define TAGBUS_CORE_H

#include "tagbus.h"

#define TAGBUS_CORE_ABI 2

/* Another libtagbus.so of this process has the core: batches are in the memory of one of them. */
#define TAGBUS_CORE_TAKEN (-1)

typedef uint64_t tagbus_handle;

/* What a function that fails says. */
typedef struct tagbus_failure {
	int code;
	char text[2044];
} tagbus_failure;

/* What a thread can wait for: value changes with each ring. */
typedef struct tagbus_bell {
	uint32_t value;
	uint32_t waiters;
} tagbus_bell;

/* A batch, with what only the library knows of it. */
typedef struct tagbus_box {
	tagbus_batch batch; /* first: a program has its address */
	uint64_t token;     /* of the core, for its memory */
	int kept;           /* it counts as retained, or needs not */
	int on_loop;        /* its callback is on the loop, where alone it can be kept */
	int users;          /* 0: it is free */
	size_t room;        /* of messages */
	tagbus_message *messages;
	uint8_t (*ids)[16]; /* NULL: no message has one */
	struct tagbus_box *next;
	char publisher[64];
} tagbus_box;

enum { TAGBUS_WORK_EVENT = 1, TAGBUS_WORK_BATCH, TAGBUS_WORK_END, TAGBUS_WORK_DONE, TAGBUS_WORK_FENCE, TAGBUS_WORK_QUIT };

/* A callback to make. */
typedef struct tagbus_work {
	int kind;
	int code;      /* of an end */
	uintptr_t fn;
	uintptr_t user;
	tagbus_box *box;
	char *text;    /* of an end, to be freed */
	tagbus_event *event; /* to be freed, with its texts */
} tagbus_work;

/* What the core calls of the library. */
typedef struct tagbus_hooks {
	tagbus_box *(*box_new)(size_t messages, int ids);
	void (*box_release)(tagbus_box *box); /* one user */
	void (*ring)(tagbus_bell *bell);
	/* Callbacks on the loop. */
	void (*event)(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event);
	void (*batch)(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box);
	void (*end)(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, const char *text);
	void (*done)(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus);
} tagbus_hooks;

/* What the library calls of the core. Functions that return a handle return 0 after a failure, those
 * that return int its code. */
typedef struct tagbus_core {
	int abi;
	const char *(*version)(void);
	int (*needs_etcd)(const char *bus);
	tagbus_handle (*open)(const char *bus, const char *options, tagbus_failure *f);
	int (*close)(tagbus_handle h, int kind, tagbus_failure *f);
	int (*alive)(tagbus_handle h, int64_t ms, tagbus_failure *f);

	tagbus_bell *(*bell)(tagbus_handle h);
	tagbus_handle (*bus_of)(tagbus_handle h);
	int (*work)(tagbus_handle h, tagbus_work *items, int n);
	int (*fence)(tagbus_handle h, uintptr_t user);
	int (*box_keep)(tagbus_box *box, tagbus_failure *f);
	void (*box_free)(uint64_t token);

	tagbus_handle (*publisher_open)(tagbus_handle bus, const char *tags, const char *options, tagbus_event_fn on_event,
		void *user, tagbus_failure *f);
	/* These do not wait for room: room rings when there may be some, and at the end. */
	tagbus_bell *(*room)(tagbus_handle p);
	int (*publish)(tagbus_handle p, uint64_t tag, const void *data, size_t size, uint8_t status, tagbus_failure *f);
	int64_t (*publish_batch)(tagbus_handle p, const tagbus_message *messages, size_t count, tagbus_failure *f);
	int (*publish_zero_copy)(tagbus_handle p, uint64_t tag, const void *data, size_t size, uint8_t status,
		tagbus_done_fn done, void *user, tagbus_failure *f);
	int (*reply)(tagbus_handle p, const uint8_t *request, uint64_t tag, const void *data, size_t size, uint8_t status,
		tagbus_failure *f);
	int (*flush)(tagbus_handle h, int kind, tagbus_failure *f);
	int (*publisher_change)(tagbus_handle p, const char *tags, int add, tagbus_failure *f);
	int (*wait)(tagbus_handle h, int kind, size_t n, const char *tags, int64_t ms, tagbus_failure *f);
	int (*drain)(tagbus_handle h, int kind, const char *failure, int64_t ms, tagbus_failure *f);

	tagbus_handle (*subscriber_open)(tagbus_handle bus, const char *options, tagbus_event_fn on_event, void *user,
		tagbus_failure *f);
	tagbus_handle (*subscribe)(tagbus_handle s, const char *tags, const char *options, tagbus_batch_fn on_batch,
		tagbus_end_fn on_end, void *user, tagbus_failure *f);
	int (*subscription_change)(tagbus_handle sub, const char *tags, int add, tagbus_failure *f);
	int (*subscription_close)(tagbus_handle sub, tagbus_failure *f);
	tagbus_handle (*owner_of)(tagbus_handle sub);
	tagbus_bell *(*pull)(tagbus_handle sub, tagbus_failure *f);
	int (*next)(tagbus_handle sub, tagbus_box **box, tagbus_failure *f); /* 1: there is none now */
	int (*fd)(tagbus_handle sub, tagbus_failure *f);

	tagbus_handle (*sender_open)(tagbus_handle bus, const char *tags, const char *options, tagbus_event_fn on_event,
		void *user, tagbus_failure *f);
	int (*send)(tagbus_handle s, uint64_t tag, const void *data, size_t size, uint8_t status, int acked, int64_t ms,
		tagbus_failure *f);
	tagbus_handle (*receiver_open)(tagbus_handle bus, const char *tags, const char *options, tagbus_batch_fn on_batch,
		tagbus_end_fn on_end, tagbus_event_fn on_event, void *user, tagbus_failure *f);
	tagbus_handle (*receiver_messages)(tagbus_handle r, tagbus_failure *f);

	tagbus_handle (*requester_open)(tagbus_handle sender, tagbus_handle subscriber, uint64_t command, uint64_t reply,
		const char *options, tagbus_failure *f);
	int (*request)(tagbus_handle r, const void *command, size_t size, tagbus_box **reply, int64_t ms, tagbus_failure *f);

	char *(*stats)(tagbus_handle h, tagbus_failure *f);
	char *(*state)(tagbus_handle h, const char *options, tagbus_failure *f);
	int (*test_panic)(tagbus_failure *f);
} tagbus_core;

/* The only symbol of the core. It fills the table, and returns its TAGBUS_CORE_ABI. */
typedef int (*tagbus_core_v1_fn)(int abi, tagbus_core *core, const tagbus_hooks *hooks);

/* Kinds of handles, as in package objects. */
enum { TAGBUS_KIND_BUS = 1, TAGBUS_KIND_PUBLISHER, TAGBUS_KIND_SUBSCRIBER, TAGBUS_KIND_SUBSCRIPTION, TAGBUS_KIND_SENDER,
	TAGBUS_KIND_RECEIVER, TAGBUS_KIND_REQUESTER };

#endif
