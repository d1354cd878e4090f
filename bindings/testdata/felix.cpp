// SPDX-License-Identifier: Apache-2.0

// felix BUS: a program for felix-client-thread, on a bus; it prints what is not as it should be.

#include <felix/felix_client_exception.hpp>
#include <felix/felix_client_properties.h>
#include <felix/felix_client_status.h>
#include <felix/felix_client_thread.hpp>

#include <atomic>
#include <cstdio>
#include <stdexcept>

static int failures;

#define EXPECT(x) \
	do { \
		if (!(x)) { \
			failures++; \
			std::printf("%d: %s\n", __LINE__, #x); \
		} \
	} while (0)

#define THROWS(x, type) \
	do { \
		try { \
			x; \
			EXPECT(!"throws " #type); \
		} catch (const type &e) { \
			EXPECT(e.what()[0] != 0); \
		} \
	} while (0)

static const std::uint8_t *bytes(const char *s) { return reinterpret_cast<const std::uint8_t *>(s); }

// User is a program as they are written for felix-client-thread.
class User {
public:
	User()
	{
		config.on_init_callback = std::bind(&User::on_init, this);
		config.on_data_callback = std::bind(&User::on_data, this, std::placeholders::_1, std::placeholders::_2, std::placeholders::_3,
			std::placeholders::_4);
		config.on_connect_callback = std::bind(&User::on_connect, this, std::placeholders::_1);
		config.on_disconnect_callback = std::bind(&User::on_disconnect, this, std::placeholders::_1);
		config.property[FELIX_CLIENT_LOCAL_IP_OR_INTERFACE] = "127.0.0.1";
		config.property[FELIX_CLIENT_LOG_LEVEL] = "error";
		config.property[FELIX_CLIENT_BUS_GROUP_NAME] = "FELIX";
		config.property[FELIX_CLIENT_VERBOSE_BUS] = "False";
		config.property[FELIX_CLIENT_NETIO_PAGES] = "256";
		config.property[FELIX_CLIENT_NETIO_PAGESIZE] = "65536";
	}
	FelixClientThread::ConfigV2 config;
	std::atomic<int> inits{0}, messages{0}, truncated{0}, connects{0}, disconnects{0}, early{0}, elsewhere{0};

private:
	void on_init()
	{
		inits++;
		thread = std::this_thread::get_id();
	}
	void on_connect(std::uint64_t) { connects++; }
	void on_disconnect(std::uint64_t) { disconnects++; }
	void on_data(std::uint64_t fid, const std::uint8_t *data, std::size_t size, std::uint8_t status)
	{
		early += connects == 0;
		elsewhere += std::this_thread::get_id() != thread;
		EXPECT(fid >= 0x10 && fid <= 0x12 && size == 4 && data[0] == 'd');
		truncated += status == FELIX_STATUS_FW_TRUNC;
		messages++;
	}
	std::thread::id thread;
};

static void until(const std::function<bool()> &condition)
{
	while (!condition())
		std::this_thread::yield();
}

static void receive(User &user, FelixClientThread &client, tagbus::Bus &bus)
{
	auto publisher = std::make_unique<tagbus::Publisher>(bus, "0x10-0x1f");
	client.subscribe(0x10);
	client.subscribe({0x10, 0x11, 0x12});
	for (unsigned i = 0; i < 3000; i++)
		publisher->publish(0x10 + i % 3, "data", FELIX_STATUS_FW_TRUNC);
	publisher->flush();
	until([&] { return user.messages == 3000; });
	EXPECT(user.truncated == 3000 && user.early == 0 && user.elsewhere == 0 && user.inits == 1 && user.connects == 3);
	client.unsubscribe(0x11);
	client.unsubscribe(0x77);
	until([&] { return user.disconnects == 1; });
	publisher.reset();
	until([&] { return user.disconnects == 3; });
	tagbus::Publisher again(bus, "0x10-0x1f");
	until([&] { return user.connects == 5; });
	client.unsubscribe(std::vector<std::uint64_t>{0x10, 0x12});
	client.subscribe(0x12);
}

// scattered: of very many fids that do not lie together, those are connected that a publisher has, and disconnected when it is gone.
static void scattered(FelixClientThread::Config config, tagbus::Bus &bus)
{
	constexpr std::uint64_t all = 4000, begin = 0x10000;
	std::atomic<std::uint64_t> connects{0}, disconnects{0}, wrong{0};
	config.on_init_callback = nullptr;
	config.on_data_callback = [](std::uint64_t, const std::uint8_t *, std::size_t, std::uint8_t) {};
	config.on_connect_callback = [&](std::uint64_t) { connects++; };
	config.on_disconnect_callback = [&](std::uint64_t fid) { disconnects++, wrong += fid >= begin + all; };
	std::vector<std::uint64_t> fids;
	std::string lower, upper;
	for (std::uint64_t fid = begin; fid < begin + 2 * all; fid += 2) {
		fids.push_back(fid);
		std::string &half = fid < begin + all ? lower : upper;
		half += (half.empty() ? "" : ",") + std::to_string(fid);
	}
	auto leaves = std::make_unique<tagbus::Publisher>(bus, lower);
	std::atomic<bool> all_served{false}, early{false};
	FelixClientThread client(config);
	std::thread waits([&] {
		client.subscribe(fids);
		early = !all_served;
	});
	until([&] { return connects >= all / 2; });
	EXPECT(connects == all / 2);
	all_served = true;
	tagbus::Publisher stays(bus, upper);
	waits.join();
	until([&] { return connects >= all; });
	EXPECT(!early && connects == all);
	leaves.reset();
	until([&] { return disconnects >= all / 2; });
	EXPECT(disconnects == all / 2 && wrong == 0);
}

// parted: messages wait for a program that is busy, and on_disconnect comes behind them, though the goodbye does not wait.
static void parted(FelixClientThread::Config config, tagbus::Bus &bus)
{
	std::atomic<int> messages{0}, at_end{-1}, connects{0}, disconnects{0};
	config.property[FELIX_CLIENT_READ_ENV] = "False";
	config.property[FELIX_CLIENT_TIMEOUT] = "0"; // the publisher comes later
	config.on_init_callback = nullptr;
	config.on_connect_callback = [&](std::uint64_t) { connects++; };
	config.on_disconnect_callback = [&](std::uint64_t) { at_end = messages.load(), disconnects++; };
	config.on_data_callback = [&](std::uint64_t, const std::uint8_t *, std::size_t, std::uint8_t) { messages++; };
	FelixClientThread client(config);
	client.subscribe(0x30);
	std::atomic<int> goodbyes{0};
	tagbus::Subscriber witness(bus, "", [&](const tagbus::Event &e) { goodbyes += e.kind == TAGBUS_GOODBYE; });
	for (int round = 1; round <= 10; round++) {
		auto leaves = std::chrono::steady_clock::now();
		{
			tagbus::Publisher publisher(bus, "0x30-0x31");
			tagbus::Subscription sees = witness.subscribe("0x31");
			sees.wait(std::chrono::minutes(1));
			until([&] { return connects == round; });
			std::atomic<bool> busy{false};
			client.exec([&] {
				busy = true;
				until([&] { return goodbyes == round; });
			});
			until([&] { return busy.load(); });
			for (int i = 0; i < 50; i++) {
				publisher.publish(0x30, "data");
				publisher.flush(); // pages of their own
			}
			leaves = std::chrono::steady_clock::now();
			publisher.drain(std::chrono::minutes(1));
			until([&] { return goodbyes == round; });
		}
		until([&] { return disconnects >= round; });
		if (std::chrono::steady_clock::now() - leaves >= std::chrono::seconds(1))
			return; // on a machine as busy as that it need not wait
		EXPECT(at_end == 50 * round && messages == 50 * round && connects == round);
	}
}

// flooded: messages of others, with which a program does not keep up, do not keep on_disconnect away.
static void flooded(FelixClientThread::Config config, tagbus::Bus &bus)
{
	std::atomic<bool> gone{false};
	config.on_init_callback = nullptr;
	config.on_connect_callback = nullptr;
	config.on_disconnect_callback = [&](std::uint64_t fid) { gone = gone || fid == 0x40; };
	config.on_data_callback = [](std::uint64_t, const std::uint8_t *, std::size_t, std::uint8_t) {
		const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
		while (std::chrono::steady_clock::now() < end)
			continue; // to yield may take long
	};
	auto leaves = std::make_unique<tagbus::Publisher>(bus, "0x40");
	tagbus::Publisher floods(bus, "0x41");
	FelixClientThread client(config);
	client.subscribe({0x40, 0x41});
	for (int i = 0; i < 10000; i++)
		floods.publish(0x41, "data");
	leaves.reset();
	while (!gone)
		floods.publish(0x41, "data");
}

#ifdef __cpp_lib_span
// Spans is a program for the second config, whose data comes as a span.
struct Spans {
	std::atomic<int> bound{0}, called{0};
	void on_data(std::uint64_t fid, std::span<const std::uint8_t> data, std::uint8_t status)
	{
		EXPECT(fid == 0x20 && data.size() == 4 && data[0] == 'd' && status == 7);
		bound++;
	}
};

static void receive_spans(FelixClientThread::ConfigV2 config, tagbus::Bus &bus)
{
	Spans spans;
	config.on_init_callback = nullptr;
	config.on_connect_callback = config.on_disconnect_callback = nullptr;
	config.on_data_callback = std::bind(&Spans::on_data, &spans, std::placeholders::_1, std::placeholders::_2, std::placeholders::_3);
	FelixClientThread one(config);
	config.on_data_callback = [&](std::uint64_t, std::span<const std::uint8_t>, std::uint8_t) { spans.called++; };
	FelixClientThread other(config);
	tagbus::Publisher publisher(bus, "0x20");
	one.subscribe(0x20);
	other.subscribe(0x20);
	publisher.publish(0x20, "data", 7);
	publisher.flush();
	until([&] { return spans.bound == 1 && spans.called == 1; });
}
#endif

static void send(FelixClientThread &client, tagbus::Bus &bus)
{
	std::atomic<int> got{0};
	tagbus::Receiver receiver(bus, "0x500", "", [&](const tagbus::Batch &b) { got += static_cast<int>(b.size()); });
	client.init_send_data(0x500);
	client.send_data(0x500, bytes("abc"), 3, true);
	client.send_data(0x500, std::vector<const std::uint8_t *>{bytes("a"), bytes("b")}, {1, 1});
	until([&] { return got == 3; });
	THROWS(client.send_data(0x500, std::vector<const std::uint8_t *>{bytes("a")}, {}), FelixClientException);
	const std::vector<std::uint8_t> big(64 << 20);
	THROWS(client.send_data(0x500, big.data(), big.size()), FelixClientMessageTooBigException);
	THROWS(client.send_data(0x500, std::vector<const std::uint8_t *>{bytes("a"), big.data()}, {1, big.size()}), FelixClientPartiallyCompletedException);
	EXPECT(FelixClientThread::to_string(FelixClientThread::Status::OK) == "OK");
}

// late has a client that does not wait for long.
static void late(const std::string &where)
{
	User user;
	user.config.property[FELIX_CLIENT_BUS_DIR] = where;
	user.config.property[FELIX_CLIENT_TIMEOUT] = "100";
	FelixClientThread client(user.config);
	THROWS(client.subscribe(0x99), FelixClientResourceNotAvailableException);
	client.unsubscribe(0x99);
	THROWS(client.send_data(0x501, bytes("abc"), 3), FelixClientResourceNotAvailableException);
	std::vector<FelixClientThread::Reply> replies;
	EXPECT(client.send_cmd({1, 2}, FelixClientThread::Cmd::GET, {"REG"}, replies) == FelixClientThread::Status::ERROR_NO_CONNECTION && replies.size() == 2);
}

int main(int, char **argv)
try {
	User user;
	THROWS(FelixClientThread{user.config}, FelixClientException); // no BUS_DIR
	user.config.property[FELIX_CLIENT_BUS_DIR] = argv[1];
	user.config.property[FELIX_CLIENT_TIMEOUT] = "soon";
	THROWS(FelixClientThread{user.config}, FelixClientException);
	user.config.property[FELIX_CLIENT_READ_ENV] = "True";
	late(argv[1]);
	setenv("FELIX_CLIENT_TIMEOUT", "60000", 1); // on a busy machine, too
	std::atomic<int> reported{0};
	tagbus::set_exception_handler([&](std::string_view, std::exception_ptr) { reported++; });
	FelixClientThread client(user.config);
	client.exec([] { throw std::runtime_error("from exec"); });
	until([&] { return reported == 1; });
	tagbus::Bus bus(std::string(argv[1]) + "/FELIX");
	receive(user, client, bus);
	scattered(user.config, bus);
	parted(user.config, bus);
	flooded(user.config, bus);
	send(client, bus);
#ifdef __cpp_lib_span
	receive_spans(user.config, bus);
#endif
	client.exec([&] { client.unsubscribe(0x12); }); // from a callback
	return failures > 0;
} catch (const std::exception &e) {
	std::printf("it throws %s\n", e.what());
	return 1;
}
