// SPDX-License-Identifier: Apache-2.0

// Command testreport reads `go test -json` on standard input and prints what
// plain `go test` would print, followed by the ten slowest tests and the number of
// tests that passed, failed and were skipped, with the reason of each skip.
//
// With -again FILE the tests that failed are written to the file, as package and pattern
// for -run, if a second run can show that they failed by accident: at most three tests,
// and no data race, panic or leak.
//
// It exists because plain `go test` hides skips: a suite that skips everything
// for want of a tool looks like a suite that passes. With -strict a skip fails
// the run unless its reason matches a line of the -allow file.
//
// Exit status: 0 all is well, 1 a test failed, no test ran or a skip is not
// allowed, 2 wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit status.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("testreport", flag.ContinueOnError)
	flags.SetOutput(errOut)
	strict := flags.Bool("strict", false, "fail when a test was skipped for a reason that -allow does not list")
	allowFile := flags.String("allow", "", "file of regular expressions, one a line, of reasons for which a test may be skipped")
	againFile := flags.String("again", "", "file to be written: the failed tests that are worth a second run")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	allowed, err := readAllowed(*allowFile)
	if err != nil {
		fmt.Fprintln(errOut, "testreport:", err)
		return 2
	}
	report := newReport(out)
	if err := report.read(in); err != nil {
		fmt.Fprintln(errOut, "testreport:", err)
		return 1
	}
	status := report.finish(allowed, *strict)
	if *againFile == "" {
		return status
	}
	if err := writeFile(*againFile, report.writeAgain); err != nil {
		fmt.Fprintln(errOut, "testreport:", err)
		return 2
	}
	return status
}

// writeFile creates a file with what a function writes.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
