// SPDX-License-Identifier: Apache-2.0

// monitor BUS TAGS COUNT [OPTIONS]: subscribes, and ends after COUNT messages, lost ones included.

#include <atomic>
#include <iostream>
#include <tagbus.hpp>

int main(int argc, char **argv)
try {
	if (argc < 4) {
		std::cerr << "usage: monitor BUS TAGS COUNT [OPTIONS]\n";
		return 2;
	}
	const unsigned long long count = std::stoull(argv[3], nullptr, 0);
	unsigned long long messages = 0, bytes = 0;
	std::atomic<unsigned long long> lost{0};
	tagbus::Bus bus(argv[1], argc > 4 ? argv[4] : "");
	tagbus::Subscriber subscriber(bus, "", [&lost](const tagbus::Event &e) {
		std::cerr << "monitor: " << e.text << "\n";
		if (e.kind == TAGBUS_GAP)
			lost += e.count;
	});
	tagbus::Subscription subscription = subscriber.subscribe(argv[2]);
	for (tagbus::Batch batch; messages + lost < count;) {
		const int code = subscription.poll(batch, std::chrono::seconds(1)); // and looks at what is lost
		if (code == TAGBUS_END)
			break;
		for (const tagbus::Message m : batch)
			bytes += m.size();
		messages += batch.size();
	}
	std::cout << "received " << messages << " messages, " << bytes << " bytes, " << lost << " lost\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << "monitor: " << e.what() << "\n";
	return 1;
}
