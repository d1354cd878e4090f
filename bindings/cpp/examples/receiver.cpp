// SPDX-License-Identifier: Apache-2.0

// receiver BUS TAGS COUNT [OPTIONS]: owns tags, and ends after COUNT messages.

#include <iostream>
#include <tagbus.hpp>

int main(int argc, char **argv)
try {
	if (argc < 4) {
		std::cerr << "usage: receiver BUS TAGS COUNT [OPTIONS]\n";
		return 2;
	}
	const unsigned long long count = std::stoull(argv[3], nullptr, 0);
	unsigned long long messages = 0, bytes = 0;
	tagbus::Bus bus(argv[1], argc > 4 ? argv[4] : "");
	tagbus::Receiver receiver(bus, argv[2]);
	while (messages < count) {
		const auto batch = receiver.next().value();
		for (const tagbus::Message m : batch)
			bytes += m.size();
		messages += batch.size();
	}
	receiver.drain(std::chrono::minutes(1));
	std::cout << "received " << messages << " messages, " << bytes << " bytes\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << "receiver: " << e.what() << "\n";
	return 1;
}
