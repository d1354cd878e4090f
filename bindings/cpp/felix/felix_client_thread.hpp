// SPDX-License-Identifier: Apache-2.0

// FelixClientThread on a tagbus: a program that was written for felix-client-thread has this include path
// instead, and its configuration names a bus. docs/felix-client.md shows both side by side.
//
// A fid is a tag. Callbacks and functions of exec are called on one thread, one at a time; they may take
// their time. Every method may be called from any thread, and from a callback. The data of on_data is valid
// until the callback returns. What leaves a callback as an exception is handed to the handler of
// tagbus::set_exception_handler.

#ifndef TAGBUS_FELIX_CLIENT_THREAD_HPP
#define TAGBUS_FELIX_CLIENT_THREAD_HPP

#include "felix_client_exception.hpp"
#include "felix_client_properties.h"
#include "felix_client_status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<span>)
#include <span>
#endif

#include "felix_client_engine.hpp"

class FelixClientThread {
public:
	using OnInitCallback = std::function<void()>;
	// OnDataCallback takes a function of the first config, (fid, data, size, status), and from C++20 on also one
	// of the second, (fid, std::span<const std::uint8_t>, status).
	class OnDataCallback : public std::function<void(std::uint64_t fid, const std::uint8_t *data, std::size_t size, std::uint8_t status)> {
		using Function = std::function<void(std::uint64_t, const std::uint8_t *, std::size_t, std::uint8_t)>;
		template <class F> static constexpr bool takes_size = std::is_constructible_v<Function, F>;

	public:
		OnDataCallback() = default;
		template <class F, class = std::enable_if_t<!std::is_base_of_v<OnDataCallback, std::decay_t<F>> && takes_size<F>>>
		OnDataCallback(F &&f) : Function(std::forward<F>(f))
		{
		}
#ifdef __cpp_lib_span
		template <class F, class = std::enable_if_t<!takes_size<F> && std::is_invocable_v<F &, std::uint64_t, std::span<const std::uint8_t>, std::uint8_t>>,
			class = void>
		OnDataCallback(F f)
			: Function([f = std::move(f)](std::uint64_t fid, const std::uint8_t *data, std::size_t size, std::uint8_t status) mutable {
				  f(fid, std::span<const std::uint8_t>(data, size), status);
			  })
		{
		}
#endif
	};
	using OnConnectCallback = std::function<void(std::uint64_t fid)>;
	using OnDisconnectCallback = std::function<void(std::uint64_t fid)>;
	using UserFunction = std::function<void()>;
	using Properties = std::map<std::string, std::string>;

	struct Config {
		OnInitCallback on_init_callback;
		OnDataCallback on_data_callback;
		OnConnectCallback on_connect_callback;
		OnDisconnectCallback on_disconnect_callback;
		Properties property;
	};
	struct ConfigV2 : Config {};

	enum Cmd : std::uint8_t { UNKNOWN = 0, NOOP = 1, GET = 2, SET = 3, TRIGGER = 4, ECR_RESET = 5 };
	enum Status : std::uint8_t {
		OK = 0,
		ERROR = 1,
		ERROR_NO_SUBSCRIPTION = 2,
		ERROR_NO_CONNECTION = 3,
		ERROR_NO_REPLY = 4,
		ERROR_INVALID_CMD = 5,
		ERROR_INVALID_ARGS = 6,
		ERROR_INVALID_REGISTER = 7,
		ERROR_NOT_AUTHORIZED = 8
	};
	struct Reply {
		std::uint64_t ctrl_fid = 0;
		Status status = ERROR;
		std::uint64_t value = 0;
		std::string message;
	};

	explicit FelixClientThread(const Config &config)
		: engine_(new tagbus::felix::Engine({config.on_init_callback, config.on_data_callback, config.on_connect_callback,
							config.on_disconnect_callback},
			  config.property))
	{
	}
	FelixClientThread(const FelixClientThread &) = delete;
	FelixClientThread &operator=(const FelixClientThread &) = delete;

	// subscribe subscribes to fids; those that are subscribed already are left out. With a timeout it waits
	// until each has a publisher, and throws FelixClientResourceNotAvailableException; the subscription stays.
	void subscribe(std::uint64_t fid) { engine_->subscribe({fid}); }
	void subscribe(const std::vector<std::uint64_t> &fids) { engine_->subscribe(fids); }
	void unsubscribe(std::uint64_t fid) { engine_->unsubscribe({fid}); }
	void unsubscribe(const std::vector<std::uint64_t> &fids) { engine_->unsubscribe(fids); }

	// init_send_data waits until the receiver of the fid is connected. send_data does that, too, the first time.
	void init_send_data(std::uint64_t fid) { engine_->init_send({fid}); }
	void init_send_data(const std::vector<std::uint64_t> &fids) { engine_->init_send(fids); }

	// send_data sends to the receiver of the fid; waits for room, at most as long as the timeout.
	//   flush: now, and not with what comes within --flush-interval
	void send_data(std::uint64_t fid, const std::uint8_t *data, std::size_t size, bool flush = false)
	{
		engine_->send(fid, data, size);
		if (flush)
			engine_->flush();
	}
	// send_data sends several messages, in their order, and flushes.
	void send_data(std::uint64_t fid, const std::vector<const std::uint8_t *> &messages, const std::vector<std::size_t> &sizes)
	{
		engine_->send_all(fid, messages, sizes);
	}
	void flush(std::uint64_t) { engine_->flush(); }

	// exec has the thread of the callbacks call a function, and does not wait for that.
	void exec(const UserFunction &function) { engine_->exec(function); }

	// send_cmd is for felix-register, which no bus has: each fid gets a reply that says so. A tagbus::Requester
	// asks a device that replies.
	Status send_cmd(const std::vector<std::uint64_t> &fids, Cmd, const std::vector<std::string> &, std::vector<Reply> &replies)
	{
		replies.clear();
		for (const std::uint64_t fid : fids) {
			Reply reply;
			reply.ctrl_fid = fid;
			reply.status = ERROR_NO_CONNECTION;
			reply.message = "no felix-register on a tagbus: ask the device with a tagbus::Requester";
			replies.push_back(reply);
		}
		return ERROR_NO_CONNECTION;
	}

	static std::string to_string(Cmd cmd)
	{
		static const char *const names[] = {"UNKNOWN", "NOOP", "GET", "SET", "TRIGGER", "ECR_RESET"};
		return names[cmd <= ECR_RESET ? cmd : 0];
	}
	static std::string to_string(Status status)
	{
		static const char *const names[] = {"OK", "ERROR", "ERROR_NO_SUBSCRIPTION", "ERROR_NO_CONNECTION", "ERROR_NO_REPLY", "ERROR_INVALID_CMD",
			"ERROR_INVALID_ARGS", "ERROR_INVALID_REGISTER", "ERROR_NOT_AUTHORIZED"};
		return names[status <= ERROR_NOT_AUTHORIZED ? status : 1];
	}

private:
	std::unique_ptr<tagbus::felix::Engine> engine_;
};

#endif
