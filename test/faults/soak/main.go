// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command soak runs a whole bus for hours with faults that never rest, and says what it cost: 30 publishers,
// 60 subscribers with all policies, plain and with TLS, a directory on etcd, a recorder, the page and top, on two hosts
// which are network namespaces.
//
// It is beside the table of faults, whose hosts, load and checker it uses. A row of that is one fault with one
// promise. Here is no promise of time: all of it must be true at the end.
//
//	make soak HOURS=2
//	go run ./test/faults/soak -hours 0.05 -seed 7 -keep /tmp/soak
//
// It prints the seed of its faults, each fault, and what is wrong when it sees it. SIGINT ends it in order, with the
// summary:
//
//   - unexplained: what the checker could not explain. Each stream, which is one tag of one run of a publisher at one
//     run of a subscriber, is judged when it is over, by counters in the messages;
//   - the streams by policy: accepted = delivered + told lost + unconfirmed, of publishers that were killed;
//   - of each program the largest memory, descriptors, goroutines and threads, and the worst slope of a run that was long
//     enough, with its bound;
//   - lines that no fault explains (package expected);
//   - how busy the machine was.
//
// The exit status is 1 if anything is wrong. What the processes said is kept then.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tagbus/test/faults/internal/bed"
)

// options are the flags.
type options struct {
	hours  float64
	seed   uint64
	rate   float64
	keep   string
	quiet  bool // no faults
	canary string
}

func main() { os.Exit(run()) }

func run() int {
	var o options
	flag.Float64Var(&o.hours, "hours", 1, "how long")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "of the faults: those of a printed one come again, at about the same times")
	flag.Float64Var(&o.rate, "rate", 0.5, "messages of most tags in a second")
	flag.StringVar(&o.keep, "keep", "", "`folder` for what the processes say, which is kept; it must not exist")
	flag.StringVar(&o.canary, "canary", "", "let the first publisher break a promise, to see that it is noticed: skip, double or change")
	flag.BoolVar(&o.quiet, "quiet", false, "let no fault happen")
	flag.Parse()
	if reason := bed.Missing("ip", "nft", "ss"); reason != "" {
		fmt.Fprintln(os.Stderr, "soak:", reason)
		return 2
	}
	dir, err := folder(o.keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 2
	}
	bed.Tidy()
	if err := build(filepath.Join(dir, "bin")); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 2
	}
	s, err := newSite(o, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 2
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		cancel() // a second signal ends the program at once, and with it all processes
	}()
	s.run(ctx)
	wrong := s.report(os.Stdout)
	s.Close()
	if wrong {
		fmt.Fprintln(os.Stdout, "what the processes said is in", dir)
		return 1
	}
	if o.keep == "" {
		_ = os.RemoveAll(dir) // the next run has another one
	}
	return 0
}

func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "tbsoak")
	}
	keep, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	return keep, os.Mkdir(keep, 0o755)
}

// build builds what is run. The commands have the directory on etcd linked in.
//
// Errors: those of the go command, with what it said.
func build(to string) error {
	cmd := exec.Command("go", "-C", "directory/etcd", "build", "-o", to+"/", "./cmd/tagbus-directory", "./cmd/tagbus-etcd", "./internal/faultload")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

// short returns a time for people.
func short(d time.Duration) string { return d.Round(time.Second).String() }
