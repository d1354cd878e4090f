// SPDX-License-Identifier: Apache-2.0

// examples NAME ...: the examples in C++ in one program, which is compiled in a fraction of the time.

#define main receiver
#include "../cpp/examples/receiver.cpp"
#undef main
#define main sender
#include "../cpp/examples/sender.cpp"
#undef main
#define main request
#include "../cpp/examples/request.cpp"
#undef main
#define main readout
#include "../cpp/examples/readout.cpp"
#undef main
#define main monitor
#include "../cpp/examples/monitor.cpp"
#undef main

int main(int argc, char **argv)
{
	const std::string name = argc > 1 ? argv[1] : "";
	for (const auto &[word, run] : {std::pair{"receiver", receiver}, {"sender", sender}, {"request", request}, {"readout", readout}, {"monitor", monitor}}) {
		if (name == word)
			return run(argc - 1, argv + 1);
	}
	return 2;
}
