// SPDX-License-Identifier: Apache-2.0

// Package open opens a bus for the examples, which take the options that tagbus_open takes in C.
package open

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"tagbus/access"
	"tagbus/identity"
	"tagbus/node"
)

// Bus opens a bus.
//
//   - options: --cert FILE --key FILE --ca FILE, or --backend NAME, or none
func Bus(at string, options []string) (*node.Node, error) {
	var id identity.Config
	var backend string
	flags := flag.NewFlagSet("options", flag.ContinueOnError)
	flags.StringVar(&id.Certificate, "cert", "", "file of the certificate")
	flags.StringVar(&id.Key, "key", "", "file of its key")
	flags.StringVar(&id.CA, "ca", "", "file of the authority")
	flags.StringVar(&backend, "backend", "", "tcp, or rdma in a build with libfabric")
	if err := flags.Parse(strings.Fields(strings.Join(options, " "))); err != nil {
		return nil, err
	}
	if id.Certificate == "" {
		return node.Open(node.Config{Bus: at, Backend: backend})
	}
	a, err := access.Open(access.Config{Identity: id})
	if err != nil {
		return nil, err
	}
	n, err := node.Open(node.Config{Bus: at, Backend: "tls", Access: a})
	if err != nil {
		a.Close()
		return nil, err
	}
	return n, nil
}

// Main runs an example: it ends the process.
//
//   - usage: the words of its command line, the last in brackets
func Main(usage string, run func(args []string) error) {
	if len(os.Args) < len(strings.Fields(usage))-1 {
		fmt.Fprintln(os.Stderr, "usage: "+usage)
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		name, _, _ := strings.Cut(usage, " ")
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}
