// SPDX-License-Identifier: Apache-2.0

// sender BUS TAG COUNT [OPTIONS]: sends COUNT messages to the receiver that owns the tag.

#include <iostream>
#include <tagbus.hpp>

int main(int argc, char **argv)
try {
	if (argc < 4) {
		std::cerr << "usage: sender BUS TAG COUNT [OPTIONS]\n";
		return 2;
	}
	const unsigned long long count = std::stoull(argv[3], nullptr, 0);
	tagbus::Bus bus(argv[1], argc > 4 ? argv[4] : "");
	tagbus::Sender sender(bus, argv[2]);
	for (unsigned long long i = 1; i <= count; i++)
		sender.send(std::stoull(argv[2], nullptr, 0), "message " + std::to_string(i));
	sender.drain(std::chrono::minutes(1));
	std::cout << "sent " << count << " messages\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << "sender: " << e.what() << "\n";
	return 1;
}
