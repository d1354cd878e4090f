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
	"runtime"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tagbus"
	"tagbus/internal/stuck"
)

// The main goroutine stays on the first thread of the process: see stuck.Main.
func init() { runtime.LockOSThread() }

// Tagbus is the main function of the command tagbus. On other systems than Linux it has only
// what reads recordings.
func Tagbus() int {
	return stuck.Main(func() int { return tagbus.Main(os.Args[1:], streams()) })
}

func streams() cli.Streams { return cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }
