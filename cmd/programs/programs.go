// SPDX-License-Identifier: Apache-2.0

// Package programs has the commands publisher, subscriber and tagbus as functions, for
// programs that link in what theirs are to have beside them. A program with another kind
// of directory is this much:
//
//	package main
//
//	import (
//		"os"
//
//		"tagbus/cmd/programs"
//
//		_ "tagbus/directory/etcd" // registers etcd:// with package directory
//	)
//
//	func main() { os.Exit(programs.Publisher()) }
//
// A program that lacks the kind of directory of its --bus hands over to the one beside it
// that has it: publisher to publisher-etcd for etcd://.
package programs

import (
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/tagbus"
)

// Publisher is the main function of the command publisher: it reads the arguments, the
// environment and the streams of the process, takes its signals, and returns the exit
// status.
//
// Threads: that of main, once; so for the other functions.
func Publisher() int { return publish.Main(os.Args[1:], streams()) }

// Subscriber is the main function of the command subscriber.
func Subscriber() int { return subscribe.Main(os.Args[1:], streams()) }

// Tagbus is the main function of the command tagbus.
func Tagbus() int { return tagbus.Main(os.Args[1:], streams()) }

func streams() cli.Streams { return cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }
