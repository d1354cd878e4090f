// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"os"

	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/internal/stuck"
)

// Publisher is the main function of the command publisher: it reads the arguments, the
// environment and the streams of the process, takes its signals, and returns the exit
// status.
//
// Threads: that of main, once; so for the other functions.
func Publisher() int {
	return stuck.Main(func() int { return publish.Main(os.Args[1:], streams()) })
}

// Subscriber is the main function of the command subscriber.
func Subscriber() int {
	return stuck.Main(func() int { return subscribe.Main(os.Args[1:], streams()) })
}
