// SPDX-License-Identifier: Apache-2.0

/*
 * tagbus.h: publish and subscribe by tag, from C and C++.
 *
 *     tagbus *bus = tagbus_open("/tmp/bus", NULL);
 *     tagbus_subscriber *s = tagbus_subscriber_open(bus, NULL, NULL, NULL);
 *     tagbus_subscription *sub = tagbus_subscribe(s, "0x100-0x10f", NULL, NULL, NULL, NULL);
 *     const tagbus_batch *batch;
 *     while (tagbus_next(sub, &batch, TAGBUS_FOREVER) == TAGBUS_OK) {
 *         for (size_t i = 0; i < batch->count; i++)
 *             use(batch->messages[i].tag, batch->messages[i].data, batch->messages[i].size);
 *         tagbus_batch_release(batch);
 *     }
 *
 * What is promised (order, loss, acknowledgement, bounds) is what the Go package bus promises:
 * docs/guarantees.md. docs/c.md leads to the first message and has recipes.
 *
 * Handles. tagbus, tagbus_publisher and the others are handles: they are compared and passed, and
 * never dereferenced. 0 is none. A function given 0, a closed handle, or one of another kind
 * returns TAGBUS_EINVAL or TAGBUS_ECLOSED; it does not crash.
 *
 * Results. Functions that return int return TAGBUS_OK, or a negative code; functions that return a
 * handle or a text return NULL. tagbus_last_error then says what happened, to what, and what to do.
 *
 * Texts are UTF-8 and end with 0. The library copies what it keeps.
 *
 * Options are words as on the command lines of publisher and subscriber, and mean the same:
 * "--queue-bytes 64MiB --policy drop-oldest". A value with blanks is quoted as in a shell. NULL is
 * no option. An unknown option, or a value out of its limits, is TAGBUS_EINVAL with its name.
 *
 * Times are milliseconds: TAGBUS_FOREVER waits without limit, 0 does not wait. Another negative time is TAGBUS_EINVAL.
 *
 * Threads. Every function may be called from any thread, and from any callback unless it waits.
 * From a callback, a function that would have to wait for that callback returns TAGBUS_EWOULDDEADLOCK
 * instead. Each publisher, subscriber, sender and receiver has one thread of the library, on which
 * its callbacks are called one at a time. A callback may take its time: messages wait for it, as
 * --queue-bytes and the policy say, and the connection lives on. With the option --on-loop the
 * callbacks are called on the event loop instead. That is faster, and a callback that takes
 * longer than a moment stops everything on this bus; after --heartbeat-timeout peers are lost.
 *
 * fork. A child of fork cannot use what its parent has opened: every call returns TAGBUS_EFORKED, at
 * once. To open in the child is possible if the parent had not opened anything before.
 *
 * Signals. The library installs no handler for SIGINT, SIGTERM or the like. The language runtime in it
 * handles SIGSEGV, SIGBUS, SIGFPE, SIGPIPE and SIGURG, and passes those that are not its own to the
 * handler that was there before. Its threads block all other signals.
 *
 * The end. A process may exit without closing anything: peers then see a publisher that vanished.
 * Close, or drain and close, to end in order.
 */

#ifndef TAGBUS_H
#define TAGBUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TAGBUS_API __attribute__((visibility("default")))
#else
#define TAGBUS_API
#endif

/* TAGBUS_VERSION is the version of this header; tagbus_version returns that of the library. The
 * ABI of libtagbus.so.0 only grows: a program runs with every later library of that name. */
#define TAGBUS_VERSION "0.1.0"

#define TAGBUS_FOREVER INT64_C(-1)

/* Codes. tagbus_error_name returns their names. */
enum {
	TAGBUS_OK = 0,
	TAGBUS_EINVAL = -1,         /* an argument or option: the text names it */
	TAGBUS_ECLOSED = -2,        /* the handle, or what it belongs to, is closed */
	TAGBUS_ETIMEOUT = -3,       /* the time is over; nothing has changed */
	TAGBUS_ENOROOM = -4,        /* nothing was published: queues are full; wait, or try later */
	TAGBUS_EUNKNOWNTAG = -5,    /* the publisher or sender does not have the tag */
	TAGBUS_ETOOLARGE = -6,      /* the message is larger than --max-message-bytes */
	TAGBUS_ENORECEIVER = -7,    /* no receiver owns the tag */
	TAGBUS_EDENIED = -8,        /* a policy or certificate does not allow it */
	TAGBUS_EFORKED = -9,        /* opened by the parent of this process */
	TAGBUS_EWOULDDEADLOCK = -10, /* the call would wait for the callback that makes it */
	TAGBUS_ELOAD = -11,         /* libtagbus-core.so cannot be loaded */
	TAGBUS_ELIMIT = -12,        /* a limit, such as --retain-bytes */
	TAGBUS_END = -13,           /* the subscription has ended, and all of it was delivered */
	TAGBUS_EUNDELIVERED = -14,  /* drained, but not all peers have confirmed all */
	TAGBUS_EUNACKED = -15,      /* sent, and perhaps not handled */
	TAGBUS_ENOREPLY = -16,      /* sent, and not answered */
	TAGBUS_ESYSTEM = -17,       /* the system or the network: the text names call and cause */
	TAGBUS_EINTERNAL = -18,     /* a fault of the library; the text is for its authors */
	TAGBUS_ENOPUBLISHER = -19   /* no publisher has acknowledged the subscription within its --timeout */
};

typedef struct tagbus_s tagbus_bus;                       /* a node: an event loop, a transport, a directory */
#ifndef __cplusplus
typedef tagbus_bus tagbus;                                /* in C++ it is the namespace of tagbus.hpp */
#endif
typedef struct tagbus_publisher_s tagbus_publisher;       /* serves tags to subscribers */
typedef struct tagbus_subscriber_s tagbus_subscriber;     /* finds publishers by tag */
typedef struct tagbus_subscription_s tagbus_subscription; /* messages of a set of tags */
typedef struct tagbus_sender_s tagbus_sender;             /* sends to the owner of a tag */
typedef struct tagbus_receiver_s tagbus_receiver;         /* owns tags */
typedef struct tagbus_requester_s tagbus_requester;       /* sends commands, waits for replies */

/* A message, in a batch that was received or one that is published. Publishing ignores counter and
 * flags. */
typedef struct tagbus_message {
	uint64_t tag;
	uint64_t counter;  /* its number in its tag and publisher, from 1, lost ones included */
	const void *data;  /* size bytes, not aligned */
	uint32_t size;
	uint8_t status;
	uint8_t flags;     /* TAGBUS_REQUEST */
	uint8_t reserved[2];
} tagbus_message;

#define TAGBUS_REQUEST 1 /* the message has a request id: tagbus_batch_request_id */

/* The messages of one received page, in the order of their arrival, all of one publisher. Everything
 * in it is read only, and valid until the batch is released: beyond the end of the subscription, of
 * the bus, and on any thread. */
typedef struct tagbus_batch {
	const tagbus_message *messages;
	size_t count;          /* at least 1 */
	const void *page;      /* the memory that all data lies in, NULL if it is not in one piece */
	size_t page_bytes;
	const char *publisher; /* its instance, as tagbus ls -v shows it */
} tagbus_batch;

/* What happens in the life of a publisher, subscriber, sender or receiver. Fields without meaning for
 * the kind are 0. Texts are valid until the callback returns. Messages wait for the program, and events do
 * not: a gap or a goodbye may come before messages that arrived earlier. The tags of TAGBUS_SUBSCRIBED and
 * TAGBUS_RESUBSCRIBED, at a subscriber, are those of the subscription that the publisher has now; all of them, where
 * many patterns make it too complex to find out. */
typedef struct tagbus_event {
	uint32_t struct_bytes; /* later versions append fields */
	int kind;              /* TAGBUS_CONNECTED and so on */
	int code;              /* of the cause: TAGBUS_OK, TAGBUS_EDENIED and so on */
	const char *name;      /* of the kind: "gap" */
	const char *text;      /* a line for people */
	const char *cause;     /* a line for people, without the rest */
	const char *peer;      /* instance */
	const char *peer_name;
	const char *peer_address;
	const char *tags;      /* a set, as in tagbus_subscribe */
	uint64_t tag;          /* of a gap */
	uint64_t count;        /* of a gap: messages that were lost */
} tagbus_event;

/* Kinds of events; bus.EventKind in Go has the whole text for each. */
enum {
	TAGBUS_CONNECTED = 1,
	TAGBUS_SUBSCRIBED = 2,
	TAGBUS_UNSUBSCRIBED = 3,
	TAGBUS_LOST = 4,
	TAGBUS_REFUSED = 5,
	TAGBUS_GAP = 6,
	TAGBUS_VANISHED = 7,
	TAGBUS_GOODBYE = 8,
	TAGBUS_PROBLEM = 9,
	TAGBUS_STALLED = 10,
	TAGBUS_RESUMED = 11,
	TAGBUS_RESUBSCRIBED = 12,
	TAGBUS_DUPLICATE = 13,
	TAGBUS_ANNOUNCED = 14
};

/* Callbacks; each gets the user pointer that was given beside it. None may throw or longjmp through
 * the library, or end its thread (pthread_exit). */
typedef void (*tagbus_event_fn)(void *user, const tagbus_event *event);
/* The batch is valid until the callback returns; tagbus_batch_retain keeps it. */
typedef void (*tagbus_batch_fn)(void *user, const tagbus_batch *batch);
/* The last call with this user pointer, which may be freed in it. code says why: TAGBUS_OK if
 * the program has closed the handle. */
typedef void (*tagbus_end_fn)(void *user, int code, const char *text);
/* No peer needs the data of a zero-copy message any more. */
typedef void (*tagbus_done_fn)(void *user);

/* --- the library ------------------------------------------------------------------------------ */

TAGBUS_API const char *tagbus_version(void);
/* The text of the last failure of this thread; "" if there was none. Valid until the thread's next call. */
TAGBUS_API const char *tagbus_last_error(void);
/* The code of it: of functions that return NULL. */
TAGBUS_API int tagbus_last_code(void);
TAGBUS_API const char *tagbus_error_name(int code);
/* Frees a text that tagbus_stats or tagbus_state has returned; NULL is ignored. */
TAGBUS_API void tagbus_free(char *text);

/* --- the bus ---------------------------------------------------------------------------------- */

/* Opens a bus: the folder or URL of --bus.
 *   options: --backend --shm-folder --loops --expiry --max-entries --cert --key --ca --revoked --acl --log-level
 * The first call loads libtagbus-core.so, from the folder of libtagbus.so or from TAGBUS_CORE, or
 * libtagbus-core-etcd.so if the URL is one of etcd. One process has one of them: after a folder was
 * opened with the first, etcd:// is TAGBUS_ELOAD with what to do. */
TAGBUS_API tagbus_bus *tagbus_open(const char *bus, const char *options);
/* Closes all that was opened on it, the last first. Waits until no callback runs, and calls each
 * on_end. Batches stay valid. A close of what another thread is about to close, here and below, waits for that, too,
 * and returns TAGBUS_ECLOSED. */
TAGBUS_API int tagbus_close(tagbus_bus *bus);
/* Returns TAGBUS_OK if the event loop turns: for the health check of a program. */
TAGBUS_API int tagbus_alive(tagbus_bus *bus, int64_t timeout_ms);

/* --- publisher -------------------------------------------------------------------------------- */

/* Opens a publisher of a set of tags: "0x100-0x10f,0x200".
 *   options: --listen --advertise --name --queue-bytes --pool-bytes --page-bytes --max-message-bytes
 *            --cache --cache-bytes --flush-interval --max-stall --policies --subscriber-bytes
 *            --heartbeat --heartbeat-timeout --on-loop
 *   on_event: NULL for none. */
TAGBUS_API tagbus_publisher *tagbus_publisher_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_event_fn on_event, void *user);
/* Publishes a copy of size bytes at data. After an error no subscriber gets the message.
 *   timeout_ms: how long to wait for room; 0 returns TAGBUS_ENOROOM at once. */
TAGBUS_API int tagbus_publish(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
/* Publishes messages in their order. Returns how many were accepted, the first ones. If that is not count,
 * tagbus_last_code has the code of the first one that was refused. If none was accepted, for another reason than
 * TAGBUS_ENOROOM or TAGBUS_ETIMEOUT, it is that code. */
TAGBUS_API int64_t tagbus_publish_batch(tagbus_publisher *p, const tagbus_message *messages, size_t count,
	int64_t timeout_ms);
/* Publishes without a copy where possible: data must not change until done is called, once, on the thread of
 * the publisher or before this function returns. After an error done is not called. */
TAGBUS_API int tagbus_publish_zero_copy(tagbus_publisher *p, uint64_t tag, const void *data, size_t size,
	uint8_t status, int64_t timeout_ms, tagbus_done_fn done, void *user);
/* Publishes the reply to a request.
 *   request: 16 bytes, of tagbus_batch_request_id */
TAGBUS_API int tagbus_reply(tagbus_publisher *p, const uint8_t request[16], uint64_t tag, const void *data,
	size_t size, uint8_t status, int64_t timeout_ms);
/* Sends what waits for full pages. */
TAGBUS_API int tagbus_publisher_flush(tagbus_publisher *p);
TAGBUS_API int tagbus_publisher_add(tagbus_publisher *p, const char *tags);
TAGBUS_API int tagbus_publisher_remove(tagbus_publisher *p, const char *tags);
/* Waits until n subscribers have subscribed, and each of the tags has a subscriber; tags: NULL for all. */
TAGBUS_API int tagbus_publisher_wait(tagbus_publisher *p, size_t n, const char *tags, int64_t timeout_ms);
/* Ends in order: sends what is published and says goodbye. Close it afterwards.
 *   failure: NULL, or why this publisher ends early: its subscribers are told. */
TAGBUS_API int tagbus_publisher_drain(tagbus_publisher *p, const char *failure, int64_t timeout_ms);
TAGBUS_API int tagbus_publisher_close(tagbus_publisher *p);

/* --- subscriber ------------------------------------------------------------------------------- */

/* options: --name --max-message-bytes --queue-bytes --retain-bytes --heartbeat --heartbeat-timeout --on-loop */
TAGBUS_API tagbus_subscriber *tagbus_subscriber_open(tagbus_bus *bus, const char *options,
	tagbus_event_fn on_event, void *user);
/* Ends in order: says goodbye, and ends its subscriptions. */
TAGBUS_API int tagbus_subscriber_close(tagbus_subscriber *s);
/* Subscribes to a set of tags at all publishers, also later ones.
 *   options: --policy --backlog --replay --duplicates --timeout
 *   on_batch: NULL queues the batches for tagbus_next.
 *   on_end: NULL, or called once, after the last on_batch, when the subscription has ended. */
TAGBUS_API tagbus_subscription *tagbus_subscribe(tagbus_subscriber *s, const char *tags, const char *options,
	tagbus_batch_fn on_batch, tagbus_end_fn on_end, void *user);
/* Waits until the subscription, as of the last add or remove, is acknowledged: from then on every
 * message that is missed is reported. */
TAGBUS_API int tagbus_subscription_wait(tagbus_subscription *sub, int64_t timeout_ms);
TAGBUS_API int tagbus_subscription_add(tagbus_subscription *sub, const char *tags);
TAGBUS_API int tagbus_subscription_remove(tagbus_subscription *sub, const char *tags);
/* Ends the subscription. Waits until no callback of it runs, unless that callback calls it: then on_end comes
 * behind it. */
TAGBUS_API int tagbus_subscription_close(tagbus_subscription *sub);

/* Takes the next batch of a subscription without on_batch. The caller releases it.
 *   Returns TAGBUS_OK, TAGBUS_ETIMEOUT, TAGBUS_END when all was delivered, or why the subscription ended; TAGBUS_ELIMIT
 *   while the batches that are not released have --retain-bytes, and others than one are held.
 *   Threads: several may wait; each batch goes to one of them. */
TAGBUS_API int tagbus_next(tagbus_subscription *sub, const tagbus_batch **batch, int64_t timeout_ms);
/* A file descriptor that can be read (poll, epoll, asyncio) while tagbus_next has something to return without
 * waiting: until tagbus_next returns TAGBUS_ETIMEOUT. It belongs to the subscription; do not read or close it. */
TAGBUS_API int tagbus_subscription_fd(tagbus_subscription *sub);

/* Keeps a batch beyond its callback; each call needs one of tagbus_batch_release. With --on-loop it is called on the
 * thread of the callback, else it is TAGBUS_EINVAL. It may move what is kept: data and page that were read before the
 * call are valid no longer than the callback, and the batch has the new ones.
 *   Returns TAGBUS_ELIMIT beyond --retain-bytes. */
TAGBUS_API int tagbus_batch_retain(const tagbus_batch *batch);
TAGBUS_API int tagbus_batch_release(const tagbus_batch *batch);
/* Copies the request id of message i. Returns TAGBUS_EINVAL if it has none. */
TAGBUS_API int tagbus_batch_request_id(const tagbus_batch *batch, size_t i, uint8_t id[16]);

/* --- sender and receiver ---------------------------------------------------------------------- */

/* tags: that may be sent to, whose receivers are dialed at once; NULL for any.
 * options: as of a publisher, without --listen and --advertise */
TAGBUS_API tagbus_sender *tagbus_sender_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_event_fn on_event, void *user);
/* Sends to the receiver of the tag; waits for a receiver and for room. */
TAGBUS_API int tagbus_send(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
/* Sends, and waits until the receiver has handled the message: with --on-loop its on_batch has returned, else the
 * message is in its queue. */
TAGBUS_API int tagbus_send_acked(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
TAGBUS_API int tagbus_sender_flush(tagbus_sender *s);
/* Waits until every one of the tags has a connected receiver; tags: NULL for those of the sender. */
TAGBUS_API int tagbus_sender_wait(tagbus_sender *s, const char *tags, int64_t timeout_ms);
TAGBUS_API int tagbus_sender_drain(tagbus_sender *s, const char *failure, int64_t timeout_ms);
TAGBUS_API int tagbus_sender_close(tagbus_sender *s);

/* options: those of a subscriber and of a subscription, and --listen --advertise
 * on_batch, on_end: as in tagbus_subscribe */
TAGBUS_API tagbus_receiver *tagbus_receiver_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_batch_fn on_batch, tagbus_end_fn on_end, tagbus_event_fn on_event, void *user);
/* What a receiver without on_batch receives, for tagbus_next and tagbus_subscription_fd. It is closed with
 * the receiver. */
TAGBUS_API tagbus_subscription *tagbus_receiver_messages(tagbus_receiver *r);
TAGBUS_API int tagbus_receiver_drain(tagbus_receiver *r, int64_t timeout_ms);
TAGBUS_API int tagbus_receiver_close(tagbus_receiver *r);

/* --- requester -------------------------------------------------------------------------------- */

/* options: --timeout --max-waiting */
TAGBUS_API tagbus_requester *tagbus_requester_open(tagbus_sender *sender, tagbus_subscriber *subscriber,
	uint64_t command_tag, uint64_t reply_tag, const char *options);
/* Sends a command and waits for its reply: a batch of one message, which the caller releases. */
TAGBUS_API int tagbus_request(tagbus_requester *r, const void *command, size_t size, const tagbus_batch **reply,
	int64_t timeout_ms);
TAGBUS_API int tagbus_requester_close(tagbus_requester *r);

/* --- what is known of them -------------------------------------------------------------------- */

/* Counters as JSON, in the names of the Go package bus. handle: of a publisher, subscriber, sender, receiver,
 * or requester. Free it with tagbus_free. */
TAGBUS_API char *tagbus_stats(const void *handle);
/* State with peers and losses by tag as JSON, as tagbus info --json prints it. handle: as above, without
 * requester.
 *   options: --tags --max-peers --max-tags */
TAGBUS_API char *tagbus_state(const void *handle, const char *options);

/* --- writer ----------------------------------------------------------------------------------- */

/* A writer gathers small messages in memory of the caller, and publishes them as one batch: for programs that
 * have one message at a time, and many of them. A message waits until the writer is full or is flushed.
 * Threads: one at a time. */
typedef struct tagbus_writer {
	tagbus_publisher *publisher;
	int64_t timeout_ms;
	size_t count, used;
	tagbus_message messages[512];
	uint8_t bytes[65536];
} tagbus_writer;

static inline void tagbus_writer_init(tagbus_writer *w, tagbus_publisher *p, int64_t timeout_ms)
{
	w->publisher = p;
	w->timeout_ms = timeout_ms;
	w->count = w->used = 0;
}

/* Forgets the first n messages, and moves the others up. */
static inline void tagbus_writer_forget(tagbus_writer *w, size_t n)
{
	size_t i, gone = n < w->count ? (size_t)((const uint8_t *)w->messages[n].data - w->bytes) : w->used;
	w->count -= n;
	w->used -= gone;
	memmove(w->bytes, w->bytes + gone, w->used);
	memmove(w->messages, w->messages + n, w->count * sizeof w->messages[0]);
	for (i = 0; i < w->count; i++)
		w->messages[i].data = (const uint8_t *)w->messages[i].data - gone;
}

/* Publishes what is gathered. After an error the messages that were not accepted stay, and a later flush goes on
 * with them. TAGBUS_ENOROOM and TAGBUS_ETIMEOUT pass; TAGBUS_EUNKNOWNTAG, TAGBUS_ETOOLARGE and TAGBUS_EDENIED are
 * about the first message, which stands before the others until tagbus_writer_drop. */
static inline int tagbus_writer_flush(tagbus_writer *w)
{
	int64_t n;
	if (w == NULL)
		return tagbus_publisher_flush(NULL); /* which says what is NULL */
	if (w->count == 0)
		return TAGBUS_OK;
	n = tagbus_publish_batch(w->publisher, w->messages, w->count, w->timeout_ms);
	if (n < 0)
		return (int)n;
	if (n == (int64_t)w->count) {
		w->count = w->used = 0;
		return TAGBUS_OK;
	}
	tagbus_writer_forget(w, (size_t)n);
	return tagbus_last_code();
}

/* Drops the first message that waits, if any: one that a flush has refused for good. */
static inline int tagbus_writer_drop(tagbus_writer *w)
{
	if (w == NULL)
		return tagbus_publisher_flush(NULL);
	if (w->count > 0)
		tagbus_writer_forget(w, 1);
	return TAGBUS_OK;
}

/* Adds a copy of a message. After an error it is not added. */
static inline int tagbus_writer_add(tagbus_writer *w, uint64_t tag, const void *data, size_t size, uint8_t status)
{
	tagbus_message *m;
	if (w == NULL || (data == NULL && size > 0))
		return tagbus_publish(w == NULL ? NULL : w->publisher, tag, data, size, status, 0);
	if (w->count == sizeof w->messages / sizeof w->messages[0] || size > sizeof w->bytes - w->used) {
		int code = tagbus_writer_flush(w);
		if (code != TAGBUS_OK && (w->count == sizeof w->messages / sizeof w->messages[0] || size > sizeof w->bytes - w->used))
			return code;
	}
	if (size > sizeof w->bytes)
		return tagbus_publish(w->publisher, tag, data, size, status, w->timeout_ms);
	m = &w->messages[w->count++];
	m->tag = tag;
	m->counter = 0;
	m->data = w->bytes + w->used;
	m->size = (uint32_t)size;
	m->status = status;
	m->flags = m->reserved[0] = m->reserved[1] = 0;
	if (size > 0)
		memcpy(w->bytes + w->used, data, size);
	w->used += size;
	return TAGBUS_OK;
}

#ifdef __cplusplus
}
#endif

#endif
