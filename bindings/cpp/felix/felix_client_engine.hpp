// SPDX-License-Identifier: Apache-2.0

// What FelixClientThread works with. Programs do not include it.

#ifndef TAGBUS_FELIX_CLIENT_ENGINE_HPP
#define TAGBUS_FELIX_CLIENT_ENGINE_HPP

#include "../tagbus.hpp"
#include "felix_client_exception.hpp"
#include "felix_client_properties.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace tagbus {
namespace felix {

struct Callbacks {
	std::function<void()> on_init;
	std::function<void(std::uint64_t, const std::uint8_t *, std::size_t, std::uint8_t)> on_data;
	std::function<void(std::uint64_t)> on_connect, on_disconnect;
};

// Settings are the properties, read.
class Settings {
public:
	explicit Settings(const std::map<std::string, std::string> &given) : given_(given)
	{
		env_ = is_true(of(FELIX_CLIENT_READ_ENV));
		timeout = number(FELIX_CLIENT_TIMEOUT, 0);
		verbose = is_true(of(FELIX_CLIENT_VERBOSE_BUS));
		bus = of(FELIX_CLIENT_BUS_DIR);
		if (bus.empty())
			throw FelixClientException("FELIX_CLIENT_BUS_DIR: got nothing, want a folder or a URL as of --bus");
		const std::string group = of(FELIX_CLIENT_BUS_GROUP_NAME);
		if (bus.find("://") == std::string::npos && !group.empty())
			bus += "/" + group;
		options = of(FELIX_CLIENT_TAGBUS_OPTIONS);
		if (const std::string level = of(FELIX_CLIENT_LOG_LEVEL); !level.empty())
			options += " --log-level " + level_of(level);
		const long pages = number(FELIX_CLIENT_NETIO_PAGES, 0), bytes = number(FELIX_CLIENT_NETIO_PAGESIZE, 65536);
		if (pages > 0 && bytes > 0)
			receiving = "--queue-bytes " + std::to_string(static_cast<unsigned long long>(pages) * static_cast<unsigned long long>(bytes));
	}
	std::string bus, options, receiving;
	long timeout = 0;
	bool verbose = false;
	std::chrono::milliseconds send_timeout() const { return std::chrono::milliseconds(timeout > 0 ? timeout : 5000); }

private:
	std::string of(const char *name) const
	{
		if (env_) {
			std::string variable = "FELIX_CLIENT_";
			for (const char *c = name; *c != 0; c++)
				variable += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
			if (const char *value = std::getenv(variable.c_str()))
				return value;
		}
		const auto found = given_.find(name);
		return found == given_.end() ? std::string() : found->second;
	}
	long number(const char *name, long otherwise) const
	{
		const std::string text = of(name);
		if (text.empty())
			return otherwise;
		char *end = nullptr;
		errno = 0;
		const long n = std::strtol(text.c_str(), &end, 0);
		if (errno != 0 || *end != 0 || n < 0 || n > 2147483647)
			throw FelixClientException(std::string(name) + ": got \"" + text + "\", want a number from 0 to 2147483647");
		return n;
	}
	static bool is_true(const std::string &s) { return s == "True" || s == "true" || s == "TRUE" || s == "1"; }
	static std::string level_of(const std::string &s)
	{
		if (s == "trace" || s == "debug")
			return "debug";
		if (s == "info" || s == "notice")
			return "info";
		if (s == "warning" || s == "warn")
			return "warn";
		if (s == "error" || s == "fatal")
			return "error";
		throw FelixClientException("log_level: got \"" + s + "\", want trace, debug, info, notice, warning, error or fatal");
	}
	const std::map<std::string, std::string> &given_;
	bool env_ = false;
};

// parse calls f with each range of a set of tags as events have it: "0x10-0x1f,0x200".
template <class F> void parse(std::string_view text, F &&f)
{
	while (!text.empty()) {
		const std::string part(text.substr(0, text.find(',')));
		text.remove_prefix(std::min(text.size(), part.size() + 1));
		char *end = nullptr;
		const std::uint64_t first = std::strtoull(part.c_str(), &end, 0);
		const std::uint64_t last = *end == '-' ? std::strtoull(end + 1, nullptr, 0) : first;
		f(first, last);
	}
}

inline std::string hex(std::uint64_t fid)
{
	char text[24];
	(void)std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(fid));
	return text;
}

inline std::string words(const std::vector<std::uint64_t> &fids)
{
	std::string text;
	for (const std::uint64_t fid : fids)
		text += (text.empty() ? "" : ",") + hex(fid);
	return text;
}

// translate throws the exception of felix-client for one of tagbus.
[[noreturn]] inline void translate(const error &e)
{
	switch (e.code()) {
	case TAGBUS_ETIMEOUT:
	case TAGBUS_ENOROOM:
	case TAGBUS_ENORECEIVER:
	case TAGBUS_EUNKNOWNTAG:
	case TAGBUS_ENOPUBLISHER: throw FelixClientResourceNotAvailableException(e.what());
	case TAGBUS_ETOOLARGE: throw FelixClientMessageTooBigException(e.what());
	case TAGBUS_ECLOSED:
	case TAGBUS_EDENIED:
	case TAGBUS_ESYSTEM: throw FelixClientSendConnectionException(e.what());
	default: throw FelixClientException(e.what());
	}
}

template <class F> void translated(F &&f)
{
	try {
		f();
	} catch (const error &e) {
		translate(e);
	}
}

class Engine {
public:
	Engine(Callbacks calls, const std::map<std::string, std::string> &properties) : calls_(std::move(calls)), settings_(properties)
	{
		translated([this] {
			bus_ = std::make_unique<Bus>(settings_.bus, settings_.options);
			subscriber_ = std::make_unique<Subscriber>(*bus_, settings_.receiving, [this](const Event &e) { event(e); });
			sender_ = std::make_unique<Sender>(*bus_, "", "", [this](const Event &e) { say(e); });
		});
		wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (wake_ < 0)
			throw FelixClientException(std::string("eventfd: ") + std::strerror(errno));
		if (calls_.on_init)
			todo_.push_back(calls_.on_init);
		thread_ = std::thread([this] { run(); });
	}
	Engine(const Engine &) = delete;
	Engine &operator=(const Engine &) = delete;
	~Engine()
	{
		{
			const std::lock_guard<std::mutex> held(lock_);
			stop_ = true;
		}
		wake();
		thread_.join();
		subscription_.reset();
		try {
			bus_->close(); // the last event comes before it returns
		} catch (...) {
			detail::report("~FelixClientThread", std::current_exception());
		}
		(void)::close(wake_);
	}

	void subscribe(const std::vector<std::uint64_t> &fids)
	{
		translated([&] {
			std::unique_lock<std::mutex> held(lock_);
			std::vector<std::uint64_t> fresh;
			for (const std::uint64_t fid : fids) {
				if (states_.emplace(fid, State()).second)
					fresh.push_back(fid);
			}
			if (!fresh.empty()) {
				untold_ += fresh.size();
				try {
					if (subscription_)
						subscription_->add(words(fresh));
					else
						subscription_ = std::make_shared<Subscription>(subscriber_->subscribe(words(fresh)));
				} catch (...) {
					for (const std::uint64_t fid : fresh)
						states_.erase(fid);
					untold_ -= fresh.size();
					throw;
				}
				wake();
			}
			if (settings_.timeout > 0)
				wait(held, fids);
		});
	}

	void unsubscribe(const std::vector<std::uint64_t> &fids)
	{
		translated([&] {
			std::shared_ptr<Subscription> last;
			{
				const std::lock_guard<std::mutex> held(lock_);
				const std::vector<std::uint64_t> gone = forget(fids);
				if (gone.empty())
					return;
				if (states_.empty())
					last.swap(subscription_);
				else
					subscription_->remove(words(gone));
				wake();
			}
			if (last)
				last->close(); // waits for an event, which takes the lock
		});
	}

	void init_send(const std::vector<std::uint64_t> &fids)
	{
		translated([&] { sender_->wait(settings_.send_timeout(), words(fids)); });
		const std::lock_guard<std::mutex> held(lock_);
		for (const std::uint64_t fid : fids) {
			if (sending_.insert(fid).second)
				tell(calls_.on_connect, fid);
		}
		wake();
	}

	void send(std::uint64_t fid, const std::uint8_t *data, std::size_t size)
	{
		bool first;
		{
			const std::lock_guard<std::mutex> held(lock_);
			first = sending_.find(fid) == sending_.end();
		}
		if (first)
			init_send({fid});
		translated([&] { sender_->send(fid, Data(data, size), 0, settings_.send_timeout()); });
	}

	void send_all(std::uint64_t fid, const std::vector<const std::uint8_t *> &messages, const std::vector<std::size_t> &sizes)
	{
		if (messages.size() != sizes.size())
			throw FelixClientException("send_data: got " + std::to_string(messages.size()) + " messages and " + std::to_string(sizes.size()) +
				" sizes, want as many");
		for (std::size_t i = 0; i < messages.size(); i++) {
			try {
				send(fid, messages[i], sizes[i]);
			} catch (const FelixClientException &e) {
				if (i == 0)
					throw;
				throw FelixClientPartiallyCompletedException("send_data: sent " + std::to_string(i) + " of " + std::to_string(messages.size()) +
					" messages: " + e.what());
			}
		}
		flush();
	}

	void flush()
	{
		translated([&] { sender_->flush(); });
	}

	void exec(const std::function<void()> &function)
	{
		const std::lock_guard<std::mutex> held(lock_);
		if (function)
			todo_.push_back(function);
		wake();
	}

private:
	// most_late is how long on_disconnect waits for messages if a program does not keep up.
	static constexpr std::chrono::seconds most_late{1};

	struct State {
		int publishers = 0; // that serve it, by the events
		bool told = false;  // on_connect is called, or will be
	};

	// forget returns those of the fids that were subscribed.
	std::vector<std::uint64_t> forget(const std::vector<std::uint64_t> &fids)
	{
		std::vector<std::uint64_t> gone;
		for (const std::uint64_t fid : fids) {
			const auto found = states_.find(fid);
			if (found == states_.end())
				continue;
			if (found->second.told)
				tell(calls_.on_disconnect, fid);
			else
				untold_--;
			states_.erase(found);
			for (auto &served : served_)
				served.second.erase(fid);
			gone.push_back(fid);
		}
		return gone;
	}

	void wake() const
	{
		const std::uint64_t one = 1;
		(void)!::write(wake_, &one, sizeof one);
	}

	void tell(const std::function<void(std::uint64_t)> &callback, std::uint64_t fid)
	{
		if (callback)
			todo_.push_back([callback, fid] { callback(fid); });
	}

	void wait(std::unique_lock<std::mutex> &held, const std::vector<std::uint64_t> &fids)
	{
		std::uint64_t missing = 0;
		const auto all = [&] {
			for (const std::uint64_t fid : fids) {
				const auto found = states_.find(fid);
				if (found != states_.end() && found->second.publishers == 0 && !found->second.told) {
					missing = fid;
					return false;
				}
			}
			return true;
		};
		if (!changed_.wait_for(held, std::chrono::milliseconds(settings_.timeout), all))
			throw FelixClientResourceNotAvailableException("subscribe: no publisher of fid " + hex(missing) + " within " +
				std::to_string(settings_.timeout) + " ms" + (problem_.empty() ? "" : "; " + problem_) + ": the subscription stays");
	}

	void say(const Event &e) const
	{
		if (settings_.verbose)
			std::fprintf(stderr, "%.*s\n", static_cast<int>(e.text.size()), e.text.data());
	}

	// event is called on the thread of the subscriber.
	void event(const Event &e)
	{
		say(e);
		const std::lock_guard<std::mutex> held(lock_);
		if (e.kind == TAGBUS_REFUSED)
			problem_ = std::string(e.text);
		if (e.kind == TAGBUS_SUBSCRIBED || e.kind == TAGBUS_RESUBSCRIBED)
			serve(std::string(e.peer), e.tags);
		else if (e.kind == TAGBUS_LOST || e.kind == TAGBUS_GOODBYE)
			leave(std::string(e.peer));
		else
			return;
		changed_.notify_all();
		wake();
	}

	void serve(const std::string &peer, std::string_view tags)
	{
		problem_.clear();
		auto &served = served_[peer];
		parse(tags, [&](std::uint64_t first, std::uint64_t last) {
			for (auto i = states_.lower_bound(first); i != states_.end() && i->first <= last; ++i) {
				auto &[fid, state] = *i;
				if (!served.insert(fid).second)
					continue;
				state.publishers++;
				if (leaving_.erase(fid) > 0)
					disconnect(fid, state);
				connect(fid, state);
			}
		});
	}

	void leave(const std::string &peer)
	{
		for (const std::uint64_t fid : served_[peer]) {
			const auto found = states_.find(fid);
			if (found == states_.end() || --found->second.publishers > 0)
				continue;
			found->second.publishers = 0;
			if (leaving_.empty())
				left_ = std::chrono::steady_clock::now();
			leaving_.insert(fid);
			leaves_++;
		}
		served_.erase(peer);
	}

	void connect(std::uint64_t fid, State &state)
	{
		if (state.told)
			return;
		state.told = true;
		untold_--;
		tell(calls_.on_connect, fid);
	}

	void disconnect(std::uint64_t fid, State &state)
	{
		if (!state.told)
			return;
		state.told = false;
		untold_++;
		tell(calls_.on_disconnect, fid);
	}

	// part has on_disconnect called for fids that are left, and reports whether there are any. Unless it is late it waits for
	// those that were left after seen was read: their messages may have come since.
	bool part(std::uint64_t seen, bool late)
	{
		const std::lock_guard<std::mutex> held(lock_);
		if (leaving_.empty())
			return false;
		if (leaves_ != seen && !late)
			return true;
		for (const std::uint64_t fid : leaving_) {
			const auto found = states_.find(fid);
			if (found != states_.end() && found->second.publishers == 0)
				disconnect(fid, found->second);
		}
		leaving_.clear();
		return true;
	}

	void run()
	{
		Batch batch;
		for (;;) {
			std::deque<std::function<void()>> now;
			std::shared_ptr<Subscription> from;
			std::uint64_t leaves; // what has arrived of those is waiting by now
			bool late;
			{
				const std::lock_guard<std::mutex> held(lock_);
				if (stop_)
					return;
				now.swap(todo_);
				from = subscription_;
				leaves = leaves_;
				late = !leaving_.empty() && std::chrono::steady_clock::now() - left_ >= most_late;
			}
			for (const auto &f : now)
				detail::guard("a callback of FelixClientThread", f);
			const int code = from ? take(*from, batch) : TAGBUS_END;
			const bool parts = (code != TAGBUS_OK || late) && part(leaves, late);
			if (code != TAGBUS_OK && !parts)
				sleep(code == TAGBUS_ETIMEOUT ? from.get() : nullptr); // of one that has ended the descriptor can be read for ever
		}
	}

	// take hands over what there is, and returns TAGBUS_OK, TAGBUS_ETIMEOUT or TAGBUS_END.
	int take(Subscription &from, Batch &batch)
	{
		try {
			const int code = from.poll(batch, std::chrono::milliseconds(0));
			if (code != TAGBUS_OK)
				return code;
		} catch (const closed &) { // by unsubscribe
			return TAGBUS_END;
		} catch (...) {
			detail::report("FelixClientThread", std::current_exception());
			return TAGBUS_END;
		}
		early(batch);
		if (calls_.on_data) {
			for (const Message m : batch)
				detail::guard("on_data", [&] {
					calls_.on_data(m.tag(), reinterpret_cast<const std::uint8_t *>(m.data().data()), m.size(), m.status());
				});
		}
		batch = Batch();
		return TAGBUS_OK;
	}

	// early has on_connect come before the first on_data of a fid: the event may be on its way yet.
	void early(const Batch &batch)
	{
		std::deque<std::function<void()>> now;
		{
			const std::lock_guard<std::mutex> held(lock_);
			if (untold_ > 0) {
				for (const Message m : batch) {
					const auto found = states_.find(m.tag());
					if (found != states_.end())
						connect(m.tag(), found->second);
				}
			}
			now.swap(todo_);
		}
		for (const auto &f : now)
			detail::guard("a callback of FelixClientThread", f);
	}

	// sleep waits for a batch, or to be woken.
	void sleep(const Subscription *from) const
	{
		pollfd fds[2] = {{wake_, POLLIN, 0}, {from != nullptr ? from->fd() : -1, POLLIN, 0}};
		(void)::poll(fds, 2, -1);
		std::uint64_t n = 0;
		(void)!::read(wake_, &n, sizeof n);
	}

	const Callbacks calls_;
	const Settings settings_;
	std::mutex lock_; // of all below
	std::condition_variable changed_;
	std::map<std::uint64_t, State> states_;
	std::size_t untold_ = 0; // of states_
	std::map<std::string, std::set<std::uint64_t>> served_; // by publishers
	std::set<std::uint64_t> leaving_; // without a publisher, on_disconnect comes behind the messages that wait
	std::uint64_t leaves_ = 0; // counts what was put there
	std::chrono::steady_clock::time_point left_; // when the first of them was left
	std::set<std::uint64_t> sending_;
	std::deque<std::function<void()>> todo_;
	std::string problem_;
	bool stop_ = false;
	std::shared_ptr<Subscription> subscription_;
	int wake_ = -1;
	std::unique_ptr<Bus> bus_;
	std::unique_ptr<Subscriber> subscriber_;
	std::unique_ptr<Sender> sender_;
	std::thread thread_;
};

} // namespace felix
} // namespace tagbus

#endif
