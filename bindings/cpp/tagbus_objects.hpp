// SPDX-License-Identifier: Apache-2.0

// The objects of tagbus.hpp, which includes this.

#ifndef TAGBUS_OBJECTS_HPP
#define TAGBUS_OBJECTS_HPP

#include "tagbus.hpp"

namespace tagbus {

namespace detail {

// Calls are the callbacks of one object. The object holds them, and the library does where it promises a
// last call, until that.
struct Calls {
	OnEvent on_event;
	OnBatch on_batch;
	OnEnd on_end;
	std::atomic<int> holders{1};

	static void drop(Calls *c) noexcept
	{
		if (c != nullptr && c->holders.fetch_sub(1) == 1)
			delete c;
	}
	static void event(void *user, const tagbus_event *e)
	{
		guard("on_event", [&] { static_cast<Calls *>(user)->on_event(Event(*e)); });
	}
	static void batch(void *user, const tagbus_batch *b)
	{
		guard("on_batch", [&] { static_cast<Calls *>(user)->on_batch(Batch::lend(b)); });
	}
	static void end(void *user, int code, const char *why)
	{
		auto *c = static_cast<Calls *>(user);
		if (c->on_end)
			guard("on_end", [&] { c->on_end(code, why == nullptr ? "" : why); });
		drop(c);
	}
};

// Holder is the holder of Calls that an object is.
class Holder {
public:
	Holder() noexcept = default;
	Holder(OnEvent on_event, OnBatch on_batch, OnEnd on_end) : calls_(new Calls)
	{
		calls_->on_event = std::move(on_event);
		calls_->on_batch = std::move(on_batch);
		calls_->on_end = std::move(on_end);
	}
	Holder(Holder &&other) noexcept : calls_(std::exchange(other.calls_, nullptr)) {}
	Holder &operator=(Holder &&other) noexcept
	{
		std::swap(calls_, other.calls_);
		return *this;
	}
	~Holder() { Calls::drop(calls_); }
	Calls *get() const noexcept { return calls_; }
	tagbus_event_fn event() const noexcept { return calls_->on_event ? Calls::event : nullptr; }
	tagbus_batch_fn batch() const noexcept { return calls_->on_batch ? Calls::batch : nullptr; }
	// share has the library hold them, too: from before it may call to Calls::end.
	void share() const noexcept { calls_->holders.fetch_add(1); }
	void unshare() const noexcept { Calls::drop(calls_); }
	// leave has them live for ever: the library may still call them.
	void leave() noexcept { calls_ = nullptr; }

private:
	Calls *calls_ = nullptr;
};

struct Done {
	OnDone done;
	static void call(void *user)
	{
		const std::unique_ptr<Done> self(static_cast<Done *>(user));
		guard("done", [&] { self->done(); });
	}
};

// Object owns a handle and its callbacks.
template <class H, int (*Close)(H *)> class Object {
public:
	Object(Object &&other) noexcept : calls_(std::move(other.calls_)), handle_(std::exchange(other.handle_, nullptr)) {}
	Object &operator=(Object &&other) noexcept
	{
		if (this != &other) {
			finish();
			handle_ = std::exchange(other.handle_, nullptr);
			calls_ = Holder(std::move(other.calls_));
		}
		return *this;
	}
	~Object() { finish(); }
	// close ends it; a second close does nothing. See tagbus.h for what it waits. Other threads may call
	// methods meanwhile, and get closed: the handle stays, and names nothing any more.
	void close()
	{
		if (handle_ == nullptr)
			return;
		const int code = Close(handle_);
		if (code != TAGBUS_ECLOSED) // by its bus, or before
			check(code);
	}
	// get returns the handle, for functions of tagbus.h.
	H *get() const noexcept { return handle_; }

protected:
	Object() noexcept = default;
	explicit Object(Holder calls) noexcept : calls_(std::move(calls)) {}
	void own(H *handle) { handle_ = check(handle); }
	const Holder &calls() const noexcept { return calls_; }

private:
	void finish() noexcept
	{
		try {
			close();
		} catch (const would_deadlock &) { // its end is that of its bus
			calls_.leave();
			report("a destructor", std::current_exception());
		} catch (const forked &) { // it is that of the parent
		} catch (...) {
			report("a destructor", std::current_exception());
		}
	}
	Holder calls_;
	H *handle_ = nullptr;
};

// Pulled is what tagbus_next takes from.
class Pulled {
public:
	class iterator {
	public:
		using iterator_category = std::input_iterator_tag;
		using value_type = Batch;
		using difference_type = std::ptrdiff_t;
		using pointer = const Batch *;
		using reference = const Batch &;
		iterator() noexcept = default;
		explicit iterator(tagbus_subscription *from) : from_(from) { step(); }
		const Batch &operator*() const noexcept { return batch_; }
		const Batch *operator->() const noexcept { return &batch_; }
		iterator &operator++()
		{
			step();
			return *this;
		}
		void operator++(int) { step(); }
		bool operator==(const iterator &other) const noexcept { return from_ == other.from_; }
		bool operator!=(const iterator &other) const noexcept { return from_ != other.from_; }

	private:
		void step()
		{
			if (Pulled::take(from_, batch_, std::nullopt) == TAGBUS_END)
				from_ = nullptr;
		}
		tagbus_subscription *from_ = nullptr;
		Batch batch_;
	};

	// take takes the next batch, and returns TAGBUS_OK, TAGBUS_ETIMEOUT or TAGBUS_END. It throws all others.
	static int take(tagbus_subscription *from, Batch &batch, Timeout within)
	{
		const tagbus_batch *b = nullptr;
		batch = Batch(); // before the wait, so that its page is free
		const int code = tagbus_next(from, &b, within.milliseconds());
		if (code == TAGBUS_OK)
			batch = Batch::adopt(b);
		else if (code != TAGBUS_ETIMEOUT && code != TAGBUS_END)
			check(code);
		return code;
	}
};

} // namespace detail

// Bus is a node: an event loop, a transport, a directory.
class Bus : public detail::Object<tagbus_bus, tagbus_close> {
public:
	// Bus opens the folder or URL of --bus.
	explicit Bus(const std::string &bus, const std::string &options = {})
	{
		own(tagbus_open(detail::text(bus, "bus"), detail::some(options, "options")));
	}
	// alive throws if the event loop does not turn.
	void alive(Timeout within) { detail::check(tagbus_alive(get(), within.milliseconds())); }
};

// Publisher serves tags to subscribers.
class Publisher : public detail::Object<tagbus_publisher, tagbus_publisher_close> {
public:
	Publisher(const Bus &bus, const std::string &tags, const std::string &options = {}, OnEvent on_event = nullptr)
		: Object(detail::Holder(std::move(on_event), nullptr, nullptr))
	{
		own(tagbus_publisher_open(bus.get(), detail::text(tags, "tags"), detail::some(options, "options"), calls().event(), calls().get()));
	}
	// publish publishes a copy. After an exception no subscriber gets the message.
	void publish(std::uint64_t tag, Data data, std::uint8_t status = 0, Timeout within = std::nullopt)
	{
		detail::check(tagbus_publish(get(), tag, data.data(), data.size(), status, within.milliseconds()));
	}
	// try_publish returns false if there is no room.
	bool try_publish(std::uint64_t tag, Data data, std::uint8_t status = 0)
	{
		const int code = tagbus_publish(get(), tag, data.data(), data.size(), status, 0);
		if (code != TAGBUS_ENOROOM)
			detail::check(code);
		return code == TAGBUS_OK;
	}
	// publish_batch publishes messages in their order, and returns how many were accepted, the first ones. It
	// throws if none was.
	std::size_t publish_batch(const tagbus_message *messages, std::size_t count, Timeout within = std::nullopt)
	{
		const std::int64_t n = tagbus_publish_batch(get(), messages, count, within.milliseconds());
		if (n < 0)
			detail::check(static_cast<int>(n));
		if (n == 0 && count > 0)
			detail::check(tagbus_last_code());
		return static_cast<std::size_t>(n);
	}
	// publish_zero_copy publishes without a copy where possible: the data must not change until done is called,
	// once. After an exception it is not called.
	void publish_zero_copy(std::uint64_t tag, Data data, OnDone done, std::uint8_t status = 0, Timeout within = std::nullopt)
	{
		std::unique_ptr<detail::Done> user(done ? new detail::Done{std::move(done)} : nullptr);
		detail::check(tagbus_publish_zero_copy(get(), tag, data.data(), data.size(), status, within.milliseconds(),
			user ? detail::Done::call : nullptr, user.get()));
		(void)user.release(); // by Done::call, perhaps already
	}
	// reply publishes the reply to a request, which Message::request_id names.
	void reply(const RequestID &request, std::uint64_t tag, Data data, std::uint8_t status = 0, Timeout within = std::nullopt)
	{
		detail::check(tagbus_reply(get(), request.data(), tag, data.data(), data.size(), status, within.milliseconds()));
	}
	void flush() { detail::check(tagbus_publisher_flush(get())); }
	void add(const std::string &tags) { detail::check(tagbus_publisher_add(get(), detail::text(tags, "tags"))); }
	void remove(const std::string &tags) { detail::check(tagbus_publisher_remove(get(), detail::text(tags, "tags"))); }
	// wait waits until n subscribers have subscribed, and each of the tags has one; no tags: all.
	void wait(std::size_t n = 1, Timeout within = std::nullopt, const std::string &tags = {})
	{
		detail::check(tagbus_publisher_wait(get(), n, detail::some(tags, "tags"), within.milliseconds()));
	}
	// drain ends in order.
	//   failure: why this publisher ends early: its subscribers are told.
	void drain(Timeout within = std::nullopt, const std::string &failure = {})
	{
		detail::check(tagbus_publisher_drain(get(), detail::some(failure, "failure"), within.milliseconds()));
	}
	std::string stats() const { return detail::taken(tagbus_stats(get())); }
	std::string state(const std::string &options = {}) const { return detail::taken(tagbus_state(get(), detail::some(options, "options"))); }
};

// Writer gathers small messages, and publishes them as one batch. At the end of its life it flushes.
class Writer {
public:
	explicit Writer(const Publisher &publisher, Timeout within = std::nullopt) : writer_(new tagbus_writer)
	{
		tagbus_writer_init(writer_.get(), publisher.get(), within.milliseconds());
	}
	Writer(Writer &&) noexcept = default;
	Writer &operator=(Writer &&other) noexcept
	{
		if (this != &other) {
			finish();
			writer_ = std::move(other.writer_);
		}
		return *this;
	}
	~Writer() { finish(); }
	void add(std::uint64_t tag, Data data, std::uint8_t status = 0)
	{
		detail::check(tagbus_writer_add(writer_.get(), tag, data.data(), data.size(), status));
	}
	void flush() { detail::check(tagbus_writer_flush(writer_.get())); }

private:
	void finish() noexcept
	{
		if (writer_)
			detail::guard("~Writer", [this] { flush(); });
	}
	std::unique_ptr<tagbus_writer> writer_;
};

// Subscription is the messages of a set of tags.
class Subscription : public detail::Object<tagbus_subscription, tagbus_subscription_close> {
public:
	using iterator = detail::Pulled::iterator;
	// wait waits until the subscription is acknowledged: from then on what is missed is reported.
	void wait(Timeout within = std::nullopt) { detail::check(tagbus_subscription_wait(get(), within.milliseconds())); }
	void add(const std::string &tags) { detail::check(tagbus_subscription_add(get(), detail::text(tags, "tags"))); }
	void remove(const std::string &tags) { detail::check(tagbus_subscription_remove(get(), detail::text(tags, "tags"))); }
	// next takes the next batch of a subscription without on_batch; nullopt: it has ended, and all was
	// delivered. It throws timeout.
	std::optional<Batch> next(Timeout within = std::nullopt)
	{
		Batch batch;
		const int code = poll(batch, within);
		if (code == TAGBUS_ETIMEOUT)
			detail::check(code);
		return code == TAGBUS_OK ? std::optional<Batch>(std::move(batch)) : std::nullopt;
	}
	// poll is next for loops in which a timeout is usual: it returns TAGBUS_OK, TAGBUS_ETIMEOUT or TAGBUS_END.
	int poll(Batch &batch, Timeout within) { return detail::Pulled::take(get(), batch, within); }
	// begin and end are a range of all batches to come, for ever.
	iterator begin() { return iterator(get()); }
	iterator end() noexcept { return iterator(); }
	// fd returns a file descriptor for poll(2) and the like.
	int fd() const { return tagbus_subscription_fd(get()); }

private:
	friend class Subscriber;
	Subscription(tagbus_subscriber *s, const std::string &tags, const std::string &options, OnBatch on_batch, OnEnd on_end)
		: Object(detail::Holder(nullptr, std::move(on_batch), std::move(on_end)))
	{
		const char *t = detail::text(tags, "tags"), *o = detail::some(options, "options");
		const bool calling = calls().get()->on_batch || calls().get()->on_end;
		if (calling)
			calls().share();
		auto *handle = tagbus_subscribe(s, t, o, calls().batch(), calling ? detail::Calls::end : nullptr, calls().get());
		if (handle == nullptr && calling)
			calls().unshare();
		own(handle);
	}
};

// Subscriber finds publishers by tag.
class Subscriber : public detail::Object<tagbus_subscriber, tagbus_subscriber_close> {
public:
	explicit Subscriber(const Bus &bus, const std::string &options = {}, OnEvent on_event = nullptr)
		: Object(detail::Holder(std::move(on_event), nullptr, nullptr))
	{
		own(tagbus_subscriber_open(bus.get(), detail::some(options, "options"), calls().event(), calls().get()));
	}
	// subscribe subscribes at all publishers, also later ones. Without on_batch, next takes the batches.
	Subscription subscribe(const std::string &tags, const std::string &options = {}, OnBatch on_batch = nullptr, OnEnd on_end = nullptr)
	{
		return Subscription(get(), tags, options, std::move(on_batch), std::move(on_end));
	}
	Subscription subscribe(const std::string &tags, OnBatch on_batch, OnEnd on_end = nullptr)
	{
		return Subscription(get(), tags, {}, std::move(on_batch), std::move(on_end));
	}
	std::string stats() const { return detail::taken(tagbus_stats(get())); }
	std::string state(const std::string &options = {}) const { return detail::taken(tagbus_state(get(), detail::some(options, "options"))); }
};

// Sender sends to the owner of a tag.
class Sender : public detail::Object<tagbus_sender, tagbus_sender_close> {
public:
	// tags: that may be sent to, whose receivers are dialed at once; empty for any.
	explicit Sender(const Bus &bus, const std::string &tags = {}, const std::string &options = {}, OnEvent on_event = nullptr)
		: Object(detail::Holder(std::move(on_event), nullptr, nullptr))
	{
		own(tagbus_sender_open(bus.get(), detail::some(tags, "tags"), detail::some(options, "options"), calls().event(), calls().get()));
	}
	void send(std::uint64_t tag, Data data, std::uint8_t status = 0, Timeout within = std::nullopt)
	{
		detail::check(tagbus_send(get(), tag, data.data(), data.size(), status, within.milliseconds()));
	}
	// send_acked sends, and waits until the receiver has handled the message.
	void send_acked(std::uint64_t tag, Data data, std::uint8_t status = 0, Timeout within = std::nullopt)
	{
		detail::check(tagbus_send_acked(get(), tag, data.data(), data.size(), status, within.milliseconds()));
	}
	void flush() { detail::check(tagbus_sender_flush(get())); }
	// wait waits until every one of the tags has a connected receiver; no tags: those of the sender.
	void wait(Timeout within = std::nullopt, const std::string &tags = {})
	{
		detail::check(tagbus_sender_wait(get(), detail::some(tags, "tags"), within.milliseconds()));
	}
	void drain(Timeout within = std::nullopt, const std::string &failure = {})
	{
		detail::check(tagbus_sender_drain(get(), detail::some(failure, "failure"), within.milliseconds()));
	}
	std::string stats() const { return detail::taken(tagbus_stats(get())); }
	std::string state(const std::string &options = {}) const { return detail::taken(tagbus_state(get(), detail::some(options, "options"))); }
};

// Receiver owns tags.
class Receiver : public detail::Object<tagbus_receiver, tagbus_receiver_close> {
public:
	using iterator = detail::Pulled::iterator;
	// Without on_batch, next takes the batches.
	Receiver(const Bus &bus, const std::string &tags, const std::string &options = {}, OnBatch on_batch = nullptr, OnEnd on_end = nullptr,
		OnEvent on_event = nullptr)
		: Object(detail::Holder(std::move(on_event), std::move(on_batch), std::move(on_end)))
	{
		const char *t = detail::text(tags, "tags"), *o = detail::some(options, "options");
		calls().share();
		auto *handle = tagbus_receiver_open(bus.get(), t, o, calls().batch(), detail::Calls::end, calls().event(), calls().get());
		if (handle == nullptr)
			calls().unshare();
		own(handle);
	}
	// next, poll, begin, end and fd are as of a Subscription.
	std::optional<Batch> next(Timeout within = std::nullopt)
	{
		Batch batch;
		const int code = poll(batch, within);
		if (code == TAGBUS_ETIMEOUT)
			detail::check(code);
		return code == TAGBUS_OK ? std::optional<Batch>(std::move(batch)) : std::nullopt;
	}
	int poll(Batch &batch, Timeout within) { return detail::Pulled::take(messages(), batch, within); }
	iterator begin() { return iterator(messages()); }
	iterator end() noexcept { return iterator(); }
	int fd() const { return tagbus_subscription_fd(messages()); }
	void drain(Timeout within = std::nullopt) { detail::check(tagbus_receiver_drain(get(), within.milliseconds())); }
	std::string stats() const { return detail::taken(tagbus_stats(get())); }
	std::string state(const std::string &options = {}) const { return detail::taken(tagbus_state(get(), detail::some(options, "options"))); }

private:
	tagbus_subscription *messages() const { return detail::check(tagbus_receiver_messages(get())); }
};

// Requester sends commands, and waits for replies.
class Requester : public detail::Object<tagbus_requester, tagbus_requester_close> {
public:
	Requester(const Sender &sender, const Subscriber &subscriber, std::uint64_t command_tag, std::uint64_t reply_tag,
		const std::string &options = {})
	{
		own(tagbus_requester_open(sender.get(), subscriber.get(), command_tag, reply_tag, detail::some(options, "options")));
	}
	// request returns the reply, a batch of one message.
	Batch request(Data command, Timeout within = std::nullopt)
	{
		const tagbus_batch *reply = nullptr;
		detail::check(tagbus_request(get(), command.data(), command.size(), &reply, within.milliseconds()));
		return Batch::adopt(reply);
	}
	std::string stats() const { return detail::taken(tagbus_stats(get())); }
};

} // namespace tagbus

#endif
