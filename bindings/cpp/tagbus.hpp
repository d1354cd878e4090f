// SPDX-License-Identifier: Apache-2.0

// tagbus.hpp: tagbus.h for C++17 and later, in headers only.
//
//     tagbus::Bus bus("/tmp/bus");
//     tagbus::Subscriber subscriber(bus);
//     tagbus::Subscription messages = subscriber.subscribe("0x100-0x10f");
//     for (const tagbus::Batch &batch : messages)
//         for (const tagbus::Message m : batch)
//             use(m.tag(), m.data());
//
// Objects own their handles: they move, are not copied, and close at the end of their life. A handle whose
// bus is closed already is no danger: calls then throw tagbus::closed. A Batch is copied to keep its memory.
//
// Failures are exceptions of the class tagbus::error, and of one derived from it for those that a program
// asks for: timeout, no_room, closed and so on. Those that a destructor meets go to the exception handler.
//
// A timeout is a duration of std::chrono, or std::nullopt to wait for ever. A negative one does not wait.
//
// Callbacks are anything that std::function takes. They live until their last call has returned. An
// exception that leaves one is caught and handed to the exception handler (set_exception_handler), which
// prints it if the program has set no other; the library goes on.
//
// Options are the text that tagbus.h describes: "--queue-bytes 64MiB". Threads are as in tagbus.h.

#ifndef TAGBUS_HPP
#define TAGBUS_HPP

#include "tagbus.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace tagbus {

// --- errors ----------------------------------------------------------------------------------------

// error is a failure; what() says what happened, to what, and what to do.
class error : public std::runtime_error {
public:
	error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}
	// code returns TAGBUS_EINVAL and so on.
	int code() const noexcept { return code_; }
	// name returns "TAGBUS_EINVAL" and so on.
	const char *name() const noexcept { return tagbus_error_name(code_); }

private:
	int code_;
};

// error_of is the class of one code.
template <int Code> class error_of : public error {
public:
	explicit error_of(const std::string &text) : error(Code, text) {}
};

using invalid = error_of<TAGBUS_EINVAL>;
using closed = error_of<TAGBUS_ECLOSED>;
using timeout = error_of<TAGBUS_ETIMEOUT>;
using no_room = error_of<TAGBUS_ENOROOM>;
using unknown_tag = error_of<TAGBUS_EUNKNOWNTAG>;
using too_large = error_of<TAGBUS_ETOOLARGE>;
using no_receiver = error_of<TAGBUS_ENORECEIVER>;
using denied = error_of<TAGBUS_EDENIED>;
using forked = error_of<TAGBUS_EFORKED>;
using would_deadlock = error_of<TAGBUS_EWOULDDEADLOCK>;
using not_loaded = error_of<TAGBUS_ELOAD>;
using limit = error_of<TAGBUS_ELIMIT>;
using ended = error_of<TAGBUS_END>;
using undelivered = error_of<TAGBUS_EUNDELIVERED>;
using unacked = error_of<TAGBUS_EUNACKED>;
using no_reply = error_of<TAGBUS_ENOREPLY>;
using system_failure = error_of<TAGBUS_ESYSTEM>;
using internal = error_of<TAGBUS_EINTERNAL>;
using no_publisher = error_of<TAGBUS_ENOPUBLISHER>;

// raise throws the exception of a code.
[[noreturn]] inline void raise(int code, const std::string &text)
{
	switch (code) {
	case TAGBUS_EINVAL: throw invalid(text);
	case TAGBUS_ECLOSED: throw closed(text);
	case TAGBUS_ETIMEOUT: throw timeout(text);
	case TAGBUS_ENOROOM: throw no_room(text);
	case TAGBUS_EUNKNOWNTAG: throw unknown_tag(text);
	case TAGBUS_ETOOLARGE: throw too_large(text);
	case TAGBUS_ENORECEIVER: throw no_receiver(text);
	case TAGBUS_EDENIED: throw denied(text);
	case TAGBUS_EFORKED: throw forked(text);
	case TAGBUS_EWOULDDEADLOCK: throw would_deadlock(text);
	case TAGBUS_ELOAD: throw not_loaded(text);
	case TAGBUS_ELIMIT: throw limit(text);
	case TAGBUS_END: throw ended(text);
	case TAGBUS_EUNDELIVERED: throw undelivered(text);
	case TAGBUS_EUNACKED: throw unacked(text);
	case TAGBUS_ENOREPLY: throw no_reply(text);
	case TAGBUS_ESYSTEM: throw system_failure(text);
	case TAGBUS_EINTERNAL: throw internal(text);
	case TAGBUS_ENOPUBLISHER: throw no_publisher(text);
	default: throw error(code, text);
	}
}

// An exception_handler gets the exceptions that leave callbacks, and those of destructors.
//   where: "on_batch", "on_event", "~Publisher" and so on
using exception_handler = std::function<void(std::string_view where, std::exception_ptr what)>;

namespace detail {

inline std::mutex &handler_lock()
{
	static std::mutex *const lock = new std::mutex; // callbacks may come while static objects are destroyed
	return *lock;
}

inline std::shared_ptr<const exception_handler> &handler_slot()
{
	static auto *const slot = new std::shared_ptr<const exception_handler>;
	return *slot;
}

inline std::string text_of(const std::exception_ptr &what) noexcept
{
	try {
		std::rethrow_exception(what);
	} catch (const std::exception &e) {
		return e.what();
	} catch (...) {
		return "an exception that is no std::exception";
	}
}

inline void print(std::string_view where, const std::exception_ptr &what) noexcept
{
	std::fprintf(stderr, "tagbus: an exception left %.*s: %s\n", static_cast<int>(where.size()), where.data(), text_of(what).c_str());
}

inline void report(std::string_view where, const std::exception_ptr &what) noexcept
{
	try {
		std::shared_ptr<const exception_handler> handler;
		{
			const std::lock_guard<std::mutex> held(handler_lock());
			handler = handler_slot();
		}
		if (handler && *handler)
			(*handler)(where, what);
		else
			print(where, what);
	} catch (...) {
		print(where, what);
		print("the exception handler", std::current_exception());
	}
}

// guard calls f, and reports what it throws.
template <class F> void guard(std::string_view where, F &&f) noexcept
{
	try {
		f();
	} catch (...) {
		report(where, std::current_exception());
	}
}

inline void check(int code)
{
	if (code != TAGBUS_OK)
		raise(code, tagbus_last_error());
}

template <class H> H *check(H *handle)
{
	if (handle == nullptr)
		raise(tagbus_last_code(), tagbus_last_error());
	return handle;
}

// text returns a text for C. A 0 within would end it there.
inline const char *text(const std::string &s, const char *argument)
{
	if (s.find('\0') != std::string::npos)
		raise(TAGBUS_EINVAL, std::string(argument) + ": there is a byte 0 in the text: leave it out");
	return s.c_str();
}

// some returns a text for C, and NULL for none.
inline const char *some(const std::string &s, const char *argument) { return s.empty() ? nullptr : text(s, argument); }

inline std::string taken(char *text)
{
	const std::unique_ptr<char, void (*)(char *)> owned(check(text), tagbus_free);
	return std::string(owned.get());
}

} // namespace detail

// set_exception_handler sets the exception handler, and returns the one before. nullptr is the one that prints.
inline exception_handler set_exception_handler(exception_handler handler)
{
	auto next = std::make_shared<const exception_handler>(std::move(handler));
	const std::lock_guard<std::mutex> held(detail::handler_lock());
	std::swap(next, detail::handler_slot());
	return next ? *next : exception_handler();
}

// --- arguments -------------------------------------------------------------------------------------

#if __cplusplus >= 202002L
using bytes = std::span<const std::byte>;
#else
// bytes is what std::span<const std::byte> is in C++20, as far as it is needed.
class bytes {
public:
	using value_type = std::byte;
	constexpr bytes() noexcept = default;
	constexpr bytes(const std::byte *data, std::size_t size) noexcept : data_(data), size_(size) {}
	constexpr const std::byte *data() const noexcept { return data_; }
	constexpr std::size_t size() const noexcept { return size_; }
	constexpr bool empty() const noexcept { return size_ == 0; }
	constexpr const std::byte *begin() const noexcept { return data_; }
	constexpr const std::byte *end() const noexcept { return data_ + size_; }
	constexpr const std::byte &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
	const std::byte *data_ = nullptr;
	std::size_t size_ = 0;
};
#endif

// Data is an argument: bytes to publish or send. A text, any container with data() and size(), an array, or
// a pointer and a size become one. An array of char is a text, and ends at its 0.
class Data {
	template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<const C &>()))>;

public:
	constexpr Data() noexcept = default;
	constexpr Data(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
	constexpr Data(std::string_view s) noexcept : data_(s.data()), size_(s.size()) {}
	Data(const char *s) noexcept : Data(std::string_view(s)) {}
	Data(const std::string &s) noexcept : data_(s.data()), size_(s.size()) {}
	template <class C, class E = element<C>,
		class = std::enable_if_t<std::is_trivially_copyable_v<E> && !(std::is_array_v<C> && std::is_same_v<std::remove_cv_t<E>, char>)>>
	constexpr Data(const C &c) noexcept : data_(std::data(c)), size_(std::size(c) * sizeof(E))
	{
	}
	constexpr const void *data() const noexcept { return data_; }
	constexpr std::size_t size() const noexcept { return size_; }

private:
	const void *data_ = nullptr;
	std::size_t size_ = 0;
};

// Timeout is an argument: a duration, or std::nullopt to wait for ever.
class Timeout {
public:
	constexpr Timeout(std::nullopt_t) noexcept {}
	template <class R, class P> constexpr Timeout(std::chrono::duration<R, P> d) noexcept : ms_(count(d)) {}
	template <class R, class P> constexpr Timeout(std::optional<std::chrono::duration<R, P>> d) noexcept : ms_(d ? count(*d) : TAGBUS_FOREVER)
	{
	}
	constexpr std::int64_t milliseconds() const noexcept { return ms_; }

private:
	// count rounds up, so that a short time is not none.
	template <class R, class P> static constexpr std::int64_t count(std::chrono::duration<R, P> d) noexcept
	{
		const double ms = std::chrono::duration<double, std::milli>(d).count();
		if (!(ms > 0))
			return 0;
		if (ms > 9e15)
			return INT64_C(9000000000000000);
		const auto whole = static_cast<std::int64_t>(ms);
		return static_cast<double>(whole) < ms ? whole + 1 : whole;
	}
	std::int64_t ms_ = TAGBUS_FOREVER;
};

// --- what is received ------------------------------------------------------------------------------

using RequestID = std::array<std::uint8_t, 16>;

// Message is one of a batch. It is valid as long as the batch, or a copy of it.
class Message {
public:
	Message(const tagbus_batch *batch, std::size_t i) noexcept : batch_(batch), m_(batch->messages + i) {}
	std::uint64_t tag() const noexcept { return m_->tag; }
	// counter returns its number in its tag and publisher, from 1.
	std::uint64_t counter() const noexcept { return m_->counter; }
	std::uint8_t status() const noexcept { return m_->status; }
	std::size_t size() const noexcept { return m_->size; }
	bytes data() const noexcept { return bytes(static_cast<const std::byte *>(m_->data), m_->size); }
	std::string_view text() const noexcept { return std::string_view(static_cast<const char *>(m_->data), m_->size); }
	bool is_request() const noexcept { return (m_->flags & TAGBUS_REQUEST) != 0; }
	// request_id returns what Publisher::reply takes.
	RequestID request_id() const
	{
		RequestID id{};
		detail::check(tagbus_batch_request_id(batch_, static_cast<std::size_t>(m_ - batch_->messages), id.data()));
		return id;
	}

private:
	const tagbus_batch *batch_;
	const tagbus_message *m_;
};

// Batch is the messages of one page, all of one publisher. A copy keeps the page, too, and is cheap; copying
// throws limit beyond --retain-bytes. A copy of one that is lent may move the messages: data from before is valid no
// longer than the callback.
class Batch {
public:
	class iterator {
	public:
		using iterator_category = std::input_iterator_tag;
		using value_type = Message;
		using difference_type = std::ptrdiff_t;
		using pointer = const Message *;
		using reference = Message;
		iterator(const tagbus_batch *batch, std::size_t i) noexcept : batch_(batch), i_(i) {}
		Message operator*() const noexcept { return Message(batch_, i_); }
		iterator &operator++() noexcept
		{
			++i_;
			return *this;
		}
		iterator operator++(int) noexcept
		{
			iterator before = *this;
			++i_;
			return before;
		}
		bool operator==(const iterator &other) const noexcept { return i_ == other.i_; }
		bool operator!=(const iterator &other) const noexcept { return i_ != other.i_; }

	private:
		const tagbus_batch *batch_;
		std::size_t i_;
	};

	Batch() noexcept = default;
	// adopt returns a Batch that releases what tagbus_next has returned.
	static Batch adopt(const tagbus_batch *batch) noexcept { return Batch(batch, true); }
	// lend returns a Batch that leaves it to the library, as in a callback.
	static Batch lend(const tagbus_batch *batch) noexcept { return Batch(batch, false); }
	Batch(const Batch &other) : batch_(other.batch_), owned_(other.batch_ != nullptr)
	{
		if (batch_ != nullptr)
			detail::check(tagbus_batch_retain(batch_));
	}
	Batch(Batch &&other) noexcept : batch_(std::exchange(other.batch_, nullptr)), owned_(std::exchange(other.owned_, false)) {}
	Batch &operator=(Batch other) noexcept
	{
		std::swap(batch_, other.batch_);
		std::swap(owned_, other.owned_);
		return *this;
	}
	~Batch()
	{
		if (owned_)
			(void)tagbus_batch_release(batch_);
	}

	std::size_t size() const noexcept { return batch_ == nullptr ? 0 : batch_->count; }
	bool empty() const noexcept { return size() == 0; }
	Message operator[](std::size_t i) const noexcept { return Message(batch_, i); }
	iterator begin() const noexcept { return iterator(batch_, 0); }
	iterator end() const noexcept { return iterator(batch_, size()); }
	// publisher returns its instance, as tagbus ls -v shows it.
	const char *publisher() const noexcept { return batch_ == nullptr ? "" : batch_->publisher; }
	// page returns the memory that all data lies in; it is empty if it is not in one piece.
	bytes page() const noexcept
	{
		return batch_ == nullptr || batch_->page == nullptr ? bytes() : bytes(static_cast<const std::byte *>(batch_->page), batch_->page_bytes);
	}
	const tagbus_batch *get() const noexcept { return batch_; }

private:
	Batch(const tagbus_batch *batch, bool owned) noexcept : batch_(batch), owned_(owned) {}
	const tagbus_batch *batch_ = nullptr;
	bool owned_ = false;
};

// Event is what tagbus_event is. Its texts are valid until the callback returns.
struct Event {
	explicit Event(const tagbus_event &e)
		: kind(e.kind), code(e.code), name(of(e.name)), text(of(e.text)), cause(of(e.cause)), peer(of(e.peer)), peer_name(of(e.peer_name)),
		  peer_address(of(e.peer_address)), tags(of(e.tags)), tag(e.tag), count(e.count)
	{
	}
	int kind; // TAGBUS_CONNECTED and so on
	int code;
	std::string_view name, text, cause, peer, peer_name, peer_address, tags;
	std::uint64_t tag, count; // of a gap

private:
	static std::string_view of(const char *s) noexcept { return s == nullptr ? std::string_view() : std::string_view(s); }
};

using OnEvent = std::function<void(const Event &)>;
using OnBatch = std::function<void(const Batch &)>;
// OnEnd is called once, as the last; code is TAGBUS_OK if the program has closed the object.
using OnEnd = std::function<void(int code, std::string_view text)>;
using OnDone = std::function<void()>;

} // namespace tagbus

#include "tagbus_objects.hpp"

#endif
