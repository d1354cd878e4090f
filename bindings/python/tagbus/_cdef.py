# SPDX-License-Identifier: Apache-2.0
"""The declarations of tagbus.h; written by tools/cdef.py."""

VERSION = "0.1.0"

CDEF = """
#define TAGBUS_REQUEST 1
enum {
	TAGBUS_OK = 0,
	TAGBUS_EINVAL = -1,
	TAGBUS_ECLOSED = -2,
	TAGBUS_ETIMEOUT = -3,
	TAGBUS_ENOROOM = -4,
	TAGBUS_EUNKNOWNTAG = -5,
	TAGBUS_ETOOLARGE = -6,
	TAGBUS_ENORECEIVER = -7,
	TAGBUS_EDENIED = -8,
	TAGBUS_EFORKED = -9,
	TAGBUS_EWOULDDEADLOCK = -10,
	TAGBUS_ELOAD = -11,
	TAGBUS_ELIMIT = -12,
	TAGBUS_END = -13,
	TAGBUS_EUNDELIVERED = -14,
	TAGBUS_EUNACKED = -15,
	TAGBUS_ENOREPLY = -16,
	TAGBUS_ESYSTEM = -17,
	TAGBUS_EINTERNAL = -18,
	TAGBUS_ENOPUBLISHER = -19
};
typedef struct tagbus_s tagbus_bus;
typedef tagbus_bus tagbus;
typedef struct tagbus_publisher_s tagbus_publisher;
typedef struct tagbus_subscriber_s tagbus_subscriber;
typedef struct tagbus_subscription_s tagbus_subscription;
typedef struct tagbus_sender_s tagbus_sender;
typedef struct tagbus_receiver_s tagbus_receiver;
typedef struct tagbus_requester_s tagbus_requester;
typedef struct tagbus_message {
	uint64_t tag;
	uint64_t counter;
	const void *data;
	uint32_t size;
	uint8_t status;
	uint8_t flags;
	uint8_t reserved[2];
} tagbus_message;
typedef struct tagbus_batch {
	const tagbus_message *messages;
	size_t count;
	const void *page;
	size_t page_bytes;
	const char *publisher;
} tagbus_batch;
typedef struct tagbus_event {
	uint32_t struct_bytes;
	int kind;
	int code;
	const char *name;
	const char *text;
	const char *cause;
	const char *peer;
	const char *peer_name;
	const char *peer_address;
	const char *tags;
	uint64_t tag;
	uint64_t count;
} tagbus_event;
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
typedef void (*tagbus_event_fn)(void *user, const tagbus_event *event);
typedef void (*tagbus_batch_fn)(void *user, const tagbus_batch *batch);
typedef void (*tagbus_end_fn)(void *user, int code, const char *text);
typedef void (*tagbus_done_fn)(void *user);
const char *tagbus_version(void);
const char *tagbus_last_error(void);
int tagbus_last_code(void);
const char *tagbus_error_name(int code);
void tagbus_free(char *text);
tagbus_bus *tagbus_open(const char *bus, const char *options);
int tagbus_close(tagbus_bus *bus);
int tagbus_alive(tagbus_bus *bus, int64_t timeout_ms);
tagbus_publisher *tagbus_publisher_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_event_fn on_event, void *user);
int tagbus_publish(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
int64_t tagbus_publish_batch(tagbus_publisher *p, const tagbus_message *messages, size_t count,
	int64_t timeout_ms);
int tagbus_publish_zero_copy(tagbus_publisher *p, uint64_t tag, const void *data, size_t size,
	uint8_t status, int64_t timeout_ms, tagbus_done_fn done, void *user);
int tagbus_reply(tagbus_publisher *p, const uint8_t request[16], uint64_t tag, const void *data,
	size_t size, uint8_t status, int64_t timeout_ms);
int tagbus_publisher_flush(tagbus_publisher *p);
int tagbus_publisher_add(tagbus_publisher *p, const char *tags);
int tagbus_publisher_remove(tagbus_publisher *p, const char *tags);
int tagbus_publisher_wait(tagbus_publisher *p, size_t n, const char *tags, int64_t timeout_ms);
int tagbus_publisher_drain(tagbus_publisher *p, const char *failure, int64_t timeout_ms);
int tagbus_publisher_close(tagbus_publisher *p);
tagbus_subscriber *tagbus_subscriber_open(tagbus_bus *bus, const char *options,
	tagbus_event_fn on_event, void *user);
int tagbus_subscriber_close(tagbus_subscriber *s);
tagbus_subscription *tagbus_subscribe(tagbus_subscriber *s, const char *tags, const char *options,
	tagbus_batch_fn on_batch, tagbus_end_fn on_end, void *user);
int tagbus_subscription_wait(tagbus_subscription *sub, int64_t timeout_ms);
int tagbus_subscription_add(tagbus_subscription *sub, const char *tags);
int tagbus_subscription_remove(tagbus_subscription *sub, const char *tags);
int tagbus_subscription_close(tagbus_subscription *sub);
int tagbus_next(tagbus_subscription *sub, const tagbus_batch **batch, int64_t timeout_ms);
int tagbus_subscription_fd(tagbus_subscription *sub);
int tagbus_batch_retain(const tagbus_batch *batch);
int tagbus_batch_release(const tagbus_batch *batch);
int tagbus_batch_request_id(const tagbus_batch *batch, size_t i, uint8_t id[16]);
tagbus_sender *tagbus_sender_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_event_fn on_event, void *user);
int tagbus_send(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
int tagbus_send_acked(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms);
int tagbus_sender_flush(tagbus_sender *s);
int tagbus_sender_wait(tagbus_sender *s, const char *tags, int64_t timeout_ms);
int tagbus_sender_drain(tagbus_sender *s, const char *failure, int64_t timeout_ms);
int tagbus_sender_close(tagbus_sender *s);
tagbus_receiver *tagbus_receiver_open(tagbus_bus *bus, const char *tags, const char *options,
	tagbus_batch_fn on_batch, tagbus_end_fn on_end, tagbus_event_fn on_event, void *user);
tagbus_subscription *tagbus_receiver_messages(tagbus_receiver *r);
int tagbus_receiver_drain(tagbus_receiver *r, int64_t timeout_ms);
int tagbus_receiver_close(tagbus_receiver *r);
tagbus_requester *tagbus_requester_open(tagbus_sender *sender, tagbus_subscriber *subscriber,
	uint64_t command_tag, uint64_t reply_tag, const char *options);
int tagbus_request(tagbus_requester *r, const void *command, size_t size, const tagbus_batch **reply,
	int64_t timeout_ms);
int tagbus_requester_close(tagbus_requester *r);
char *tagbus_stats(const void *handle);
char *tagbus_state(const void *handle, const char *options);
"""
