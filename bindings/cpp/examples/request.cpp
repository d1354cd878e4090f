// SPDX-License-Identifier: Apache-2.0

// request BUS device|ask COUNT [OPTIONS]: a device that doubles numbers, and a program that asks it. The
// device owns tag 1, and publishes replies with tag 2.

#include <iostream>
#include <tagbus.hpp>

static void device(const tagbus::Bus &bus, unsigned long long count)
{
	tagbus::Publisher replies(bus, "2");
	tagbus::Receiver commands(bus, "1");
	for (unsigned long long n = 0; n < count;) {
		const auto batch = commands.next().value();
		for (const tagbus::Message m : batch)
			replies.reply(m.request_id(), 2, std::to_string(2 * std::stoll(std::string(m.text()))));
		n += batch.size();
	}
	replies.drain(std::chrono::minutes(1));
	std::cout << "answered " << count << " commands\n";
}

static void ask(const tagbus::Bus &bus, unsigned long long count)
{
	tagbus::Sender sender(bus, "1");
	tagbus::Subscriber subscriber(bus);
	tagbus::Requester requester(sender, subscriber, 1, 2);
	for (unsigned long long i = 1; i <= count; i++) {
		const tagbus::Batch reply = requester.request(std::to_string(i), std::chrono::minutes(1));
		if (reply[0].text() != std::to_string(2 * i))
			throw std::runtime_error(std::to_string(i) + " doubled is not " + std::string(reply[0].text()));
	}
	std::cout << "asked " << count << " times\n";
}

int main(int argc, char **argv)
try {
	if (argc < 4) {
		std::cerr << "usage: request BUS device|ask COUNT [OPTIONS]\n";
		return 2;
	}
	const tagbus::Bus bus(argv[1], argc > 4 ? argv[4] : "");
	(std::string(argv[2]) == "device" ? device : ask)(bus, std::stoull(argv[3], nullptr, 0));
	return 0;
} catch (const std::exception &e) {
	std::cerr << "request: " << e.what() << "\n";
	return 1;
}
