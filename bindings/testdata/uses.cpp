// SPDX-License-Identifier: Apache-2.0

// uses BUS: uses all of tagbus.hpp, and prints what is not as it should be.

#include <tagbus.hpp>

#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static int failures;

#define EXPECT(x) \
	do { \
		if (!(x)) { \
			failures++; \
			std::cout << __LINE__ << ": " #x "\n"; \
		} \
	} while (0)

// THROWS checks that an expression throws an exception of a class.
#define THROWS(x, type) \
	do { \
		try { \
			x; \
			EXPECT(!"throws " #type); \
		} catch (const tagbus::type &e) { \
			EXPECT(e.what()[0] != 0); \
		} \
	} while (0)

static_assert(!std::is_copy_constructible_v<tagbus::Bus> && std::is_nothrow_move_constructible_v<tagbus::Bus>);
static_assert(!std::is_copy_constructible_v<tagbus::Subscription> && std::is_nothrow_move_assignable_v<tagbus::Subscription>);
static_assert(std::is_copy_constructible_v<tagbus::Batch> && !std::is_default_constructible_v<tagbus::Publisher>);
static_assert(tagbus::Timeout(1us).milliseconds() == 1 && tagbus::Timeout(-1s).milliseconds() == 0);
static_assert(tagbus::Timeout(std::nullopt).milliseconds() == TAGBUS_FOREVER && tagbus::Timeout(std::chrono::hours::max()).milliseconds() > 0);
static_assert(tagbus::Timeout(1.5s).milliseconds() == 1500 && tagbus::Timeout(std::optional<std::chrono::seconds>()).milliseconds() == -1);

static void data()
{
	const char text[16] = "hello";
	const std::uint16_t numbers[3] = {1, 2, 3};
	EXPECT(tagbus::Data("hello").size() == 5 && tagbus::Data(text).size() == 5 && tagbus::Data(numbers).size() == 6);
	EXPECT(tagbus::Data(std::vector<double>(3)).size() == 24 && tagbus::Data(std::string("a\0b", 3)).size() == 3 && tagbus::Data().size() == 0);
	EXPECT(tagbus::Data(std::string_view("abc")).size() == 3 && tagbus::Data(tagbus::bytes()).size() == 0);
}

static void errors(const std::string &where)
{
	THROWS(tagbus::Bus("", ""), invalid);
	THROWS(tagbus::Bus(where, "--no-such-option 1"), invalid);
	THROWS(tagbus::Bus(std::string("a\0b", 3)), invalid);
	tagbus::Bus bus(where);
	THROWS(tagbus::Publisher(bus, "x"), invalid);
	THROWS(tagbus::Receiver(bus, "x", "", [](const tagbus::Batch &) {}), invalid);
	tagbus::Subscriber subscriber(bus);
	THROWS((void)subscriber.subscribe("x", [](const tagbus::Batch &) {}), invalid);
	tagbus::Publisher publisher(bus, "1");
	THROWS(publisher.publish(2, "x"), unknown_tag);
	THROWS(publisher.publish(1, std::vector<char>(64 << 20)), too_large);
	THROWS(publisher.wait(1, 1ms), timeout);
	tagbus::Publisher other = std::move(publisher);
	other.publish(1, "x");
	EXPECT(publisher.get() == nullptr && other.get() != nullptr); // NOLINT: that is what is checked
	bus.close();
	bus.close();
	THROWS(other.publish(1, "x"), closed);
	EXPECT(tagbus::error(TAGBUS_EFORKED, "x").code() == TAGBUS_EFORKED && std::string(tagbus::forked("x").name()) == "TAGBUS_EFORKED");
}

// calls has callbacks that throw, and handles that end in and before their callbacks.
static void calls(const std::string &where)
{
	std::atomic<int> reported{0}, batches{0}, ends{0}, events{0}, done{0}, denied{0};
	const auto before = tagbus::set_exception_handler([&](std::string_view, std::exception_ptr) {
		if (reported++ == 0)
			throw 4;
	});
	EXPECT(!before);
	std::fclose(stderr); // the handler throws once, and that is printed
	auto token = std::make_shared<int>(0);
	{
		tagbus::Bus bus(where);
		tagbus::Publisher publisher(bus, "1-9", "", [&](const tagbus::Event &e) {
			events++;
			if (e.kind == TAGBUS_SUBSCRIBED)
				throw std::runtime_error("event");
		});
		tagbus::Subscriber subscriber(bus);
		auto subscription = subscriber.subscribe(
			"1-8",
			[&, token](const tagbus::Batch &) {
				batches++;
				try {
					subscriber.close();
				} catch (const tagbus::would_deadlock &) {
					denied++;
				}
				throw 3;
			},
			[&, token](int code, std::string_view) { ends += code == TAGBUS_OK ? 1 : 100; });
		subscription.wait(20s);
		publisher.publish(1, "x");
		static const std::vector<char> large(100000);
		publisher.publish_zero_copy(2, large, [&] { done++; });
		publisher.flush();
		while (batches < 1 || done < 1)
			std::this_thread::yield();
		subscription.close();
		EXPECT(ends == 1);
		EXPECT(token.use_count() == 3); // the object has them yet
	}
	EXPECT(token.use_count() == 1 && events > 0 && reported > 1 && denied == batches);
	tagbus::set_exception_handler(nullptr);
}

static void messages(const std::string &where)
{
	tagbus::Bus bus(where, "--log-level error");
	bus.alive(20s);
	tagbus::Publisher publisher(bus, "1-9", "--name sensor");
	tagbus::Subscriber subscriber(bus);
	auto subscription = subscriber.subscribe("1-8");
	subscription.add("9");
	subscription.wait(20s);
	EXPECT(publisher.try_publish(1, "first", 7));
	publisher.publish(2, std::vector<std::uint32_t>{1, 2, 3});
	const tagbus_message two[2] = {{1, 0, "a", 1, 0, 0, {0, 0}}, {9, 0, "bc", 2, 0, 0, {0, 0}}};
	EXPECT(publisher.publish_batch(two, 2) == 2);
	{
		tagbus::Writer writer(publisher);
		for (int i = 0; i < 1000; i++)
			writer.add(3, "small");
	}
	publisher.flush();
	std::vector<tagbus::Batch> kept;
	std::size_t count = 0;
	for (const tagbus::Batch &batch : subscription) {
		kept.push_back(batch);
		if ((count += batch.size()) >= 1004)
			break;
	}
	EXPECT(count == 1004 && subscription.fd() >= 0);
	THROWS((void)subscription.next(1ms), timeout);
	tagbus::Batch none;
	EXPECT(subscription.poll(none, 0ms) == TAGBUS_ETIMEOUT && none.empty());
	publisher.drain(20s);
	EXPECT(publisher.stats().find("{") == 0 && publisher.state().find("sensor") != std::string::npos);
	subscription.close();
	bus.close();
	const tagbus::Message first = kept[0][0];
	EXPECT(first.text() == "first" && first.status() == 7 && first.counter() == 1 && first.tag() == 1 && !first.is_request());
	EXPECT(first.data().size() == 5 && kept[0].publisher()[0] != 0);
	THROWS((void)first.request_id(), invalid);
}

static void owners(const std::string &where)
{
	tagbus::Bus bus(where);
	std::atomic<int> ends{0};
	tagbus::Receiver receiver(bus, "100");
	tagbus::Publisher replies(bus, "101");
	{
		std::atomic<int> got{0};
		tagbus::Receiver calling(bus, "102", "", [&](const tagbus::Batch &b) { got += static_cast<int>(b.size()); }, [&](int, std::string_view) { ends++; });
		tagbus::Sender sender(bus, "102");
		sender.wait(20s);
		sender.send_acked(102, "x", 0, 20s);
		while (got < 1)
			std::this_thread::yield();
		sender.drain(20s);
	}
	EXPECT(ends == 1);
	tagbus::Sender sender(bus);
	tagbus::Subscriber subscriber(bus);
	tagbus::Requester requester(sender, subscriber, 100, 101);
	std::thread device([&] {
		const auto batch = receiver.next(20s).value();
		replies.reply(batch[0].request_id(), 101, std::string(batch[0].text()) + "!");
	});
	EXPECT(requester.request("ping", 20s)[0].text() == "ping!");
	device.join();
	receiver.close();
}

int main(int, char **argv)
try {
	const std::string where = argv[1];
	data();
	messages(where + "/messages");
	errors(where + "/errors");
	owners(where + "/owners");
	calls(where + "/calls");
	return failures > 0;
} catch (const std::exception &e) {
	std::cout << "it throws " << e.what() << "\n";
	return 1;
}
