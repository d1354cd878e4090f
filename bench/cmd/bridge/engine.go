// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// engine is what keeps a log.
type engine interface {
	// name is that of its client.
	name() string

	// start starts its server with data below a folder, stop ends it, and pid is its process.
	start(dir string) error
	stop()
	pid() int

	// fresh makes an empty log.
	fresh(ctx context.Context) error

	// flags are those by which tagbus-bridge finds the log.
	flags() []string

	// own is how this program publishes by the engine's client.
	own() (role string, flags []string)

	// last returns when the server has stored the last record; zero: it does not tell.
	last(ctx context.Context) (at time.Time, err error)

	// follow calls take with each record that is stored from now on, until ctx ends. ready is called when
	// it would see the next one.
	follow(ctx context.Context, ready func(), take func(data []byte)) error

	// sender returns a sender of the engine's client.
	sender(tags int) sender
}

// The stream of the measurements.
const (
	stream  = "BENCH"
	subject = "bench." // and a tag, and an instance
)

// natsEngine is NATS JetStream, with a stream in files and what else a server has by default.
type natsEngine struct {
	program string
	url     string
	server  *exec.Cmd
	js      jetstream.JetStream
	log     jetstream.Stream
}

func (*natsEngine) name() string { return "nats.go" }

func (n *natsEngine) start(dir string) error {
	if n.program == "" {
		return errors.New("-nats-server: give the path of the program")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return err
	}
	n.server = exec.Command(n.program, "-a", "127.0.0.1", "-p", fmt.Sprint(port), "-js", "-sd", dir)
	n.server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := n.server.StderrPipe()
	if err == nil {
		err = n.server.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "Server is ready") {
	}
	go func() {
		for lines.Scan() { // what it says later is not read, and must not hold it
		}
	}()
	n.url = fmt.Sprintf("nats://127.0.0.1:%d", port)
	conn, err := nats.Connect(n.url)
	if err != nil {
		return fmt.Errorf("%s: %w", n.program, err)
	}
	n.js, err = jetstream.New(conn)
	return err
}

func (n *natsEngine) stop() {
	_ = n.server.Process.Kill()
	_ = n.server.Wait()
}

func (n *natsEngine) pid() int { return n.server.Process.Pid }

func (n *natsEngine) fresh(ctx context.Context) error {
	if err := n.js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	s, err := n.js.CreateStream(ctx, jetstream.StreamConfig{Name: stream, Subjects: []string{subject + "*.*"}, Storage: jetstream.FileStorage})
	n.log = s
	return err
}

func (n *natsEngine) flags() []string {
	return []string{"--nats", n.url, "--stream", stream, "--subject", subject + "{tag}.{instance}"}
}

func (n *natsEngine) own() (role string, flags []string) { return roleNATS, []string{"-url", n.url} }

func (n *natsEngine) last(ctx context.Context) (at time.Time, err error) {
	info, err := n.log.Info(ctx)
	if err != nil {
		return at, err
	}
	return info.State.LastTime, nil
}

func (n *natsEngine) follow(ctx context.Context, ready func(), take func(data []byte)) error {
	consumer, err := n.log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
	if err != nil {
		return err
	}
	on, err := consumer.Consume(func(m jetstream.Msg) { take(m.Data()) })
	if err != nil {
		return err
	}
	ready()
	<-ctx.Done()
	on.Stop()
	return nil
}

func (n *natsEngine) sender(tags int) sender { return &natsSender{url: n.url, tags: tags} }
