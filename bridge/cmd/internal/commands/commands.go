// SPDX-License-Identifier: Apache-2.0

// Package commands has the commands of tagbus-bridge.
package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bridge/jetstream"
)

// Description is what the help says before the flags.
const Description = `Write the messages of a bus into a durable log, each once, and publish a log on a bus.

Ends with status 0 when all that was asked for is done, 1 when something failed or messages were lost, and 2 when the command line makes no sense. SIGINT, SIGTERM and SIGHUP stop it in order: what has come is in the log then. A second signal, half a second later or more, gives up what it waits for.`

// Commands are those of the program.
type Commands struct {
	Out Out `cmd:"" help:"Write what is published on a bus into a log, from now on, and what publishers have kept with --replay. Begun again, it goes on behind what is in the log."`
	In  In  `cmd:"" help:"Publish what is in a log on a bus, under the tags that it had."`

	Convert Convert `cmd:"" help:"Make a recording of a span of a log. It needs no bus; tagbus rec convert does the same."`
}

// Log are the flags of the log.
type Log struct {
	URL         string        `name:"nats" required:"" placeholder:"URL" group:"The log" help:"Servers of NATS, with commas between them: nats://HOST or tls://HOST."`
	Stream      string        `required:"" placeholder:"NAME" group:"The log" help:"Stream of JetStream, which exists already: nats stream add NAME --subjects 'tagbus.*.*' --storage file --replicas 3 --retention limits."`
	Subject     string        `default:"tagbus.{tag}.{instance}" placeholder:"PATTERN" group:"The log" help:"Subjects of the records: {tag} stands for the tag as 16 hexadecimal digits, and {instance} for that of the publisher. Default ${default}."`
	Domain      string        `placeholder:"NAME" group:"The log" help:"JetStream domain of the stream. Default: that of the servers."`
	Credentials string        `placeholder:"FILE" group:"The log" help:"Credentials of a user of NATS: a JWT and a seed."`
	NKey        string        `name:"nkey" placeholder:"FILE" group:"The log" help:"Seed of a user of NATS. A user and a password stand in --nats: nats://USER:PASSWORD@HOST."`
	AckTimeout  time.Duration `default:"5s" placeholder:"TIME" group:"The log" help:"How long the stream may take to acknowledge a record before it is tried again. Default ${default}."`
}

// config returns what package jetstream takes.
func (l *Log) config(name string) jetstream.Config {
	return jetstream.Config{
		URL: l.URL, Stream: l.Stream, Subject: l.Subject, Domain: l.Domain, Credentials: l.Credentials, NKey: l.NKey,
		AckTimeout: l.AckTimeout, Name: named(name),
	}
}

// named returns what others see of the program.
func named(name string) string {
	if name == "" {
		return "tagbus-bridge"
	}
	return name
}

// open opens the log, and waits for servers that are away.
func (l *Log) open(ctx context.Context, name string, say func(format string, args ...any)) (*jetstream.Log, error) {
	pause := time.Second
	for first := true; ; first = false {
		log, err := jetstream.Open(ctx, l.config(name))
		if err == nil || !jetstream.Away(err) {
			return log, err
		}
		if first {
			say("waiting for the log: %v", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(fmt.Errorf("the log was not there: %w", err), context.Cause(ctx))
		}
	}
}
