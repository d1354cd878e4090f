// SPDX-License-Identifier: Apache-2.0

// readout BUS TAG COUNT SIZE [OPTIONS]: publishes COUNT messages of SIZE bytes, once there is a subscriber.

#include <algorithm>
#include <iostream>
#include <tagbus.hpp>
#include <vector>

int main(int argc, char **argv)
try {
	if (argc < 5) {
		std::cerr << "usage: readout BUS TAG COUNT SIZE [OPTIONS]\n";
		return 2;
	}
	const unsigned long long tag = std::stoull(argv[2], nullptr, 0), count = std::stoull(argv[3], nullptr, 0);
	std::vector<unsigned char> data(std::stoul(argv[4], nullptr, 0));
	tagbus::Bus bus(argv[1], argc > 5 ? argv[5] : "");
	tagbus::Publisher publisher(bus, argv[2]);
	publisher.wait(1, std::nullopt, argv[2]);
	tagbus::Writer writer(publisher);
	for (unsigned long long i = 1; i <= count; i++) {
		std::fill(data.begin(), data.end(), static_cast<unsigned char>(i % 256));
		writer.add(tag, data);
	}
	writer.flush();
	publisher.drain(std::chrono::minutes(1));
	std::cout << "published " << count << " messages\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << "readout: " << e.what() << "\n";
	return 1;
}
