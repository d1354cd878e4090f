// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/jetstream"
	"tagbus/bridge/kafka"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/tags"
)

// Log are the flags of the log: of a stream, or of a topic.
type Log struct {
	URL         string `name:"nats" placeholder:"URL" group:"A log in NATS JetStream" help:"Servers of NATS, with commas between them: nats://HOST or tls://HOST."`
	Stream      string `placeholder:"NAME" group:"A log in NATS JetStream" help:"Stream of JetStream, which exists already: nats stream add NAME --subjects 'tagbus.*.*' --storage file --replicas 3 --retention limits."`
	Subject     string `placeholder:"PATTERN" group:"A log in NATS JetStream" help:"Subjects of the records: {tag} stands for the tag as 16 hexadecimal digits, and {instance} for that of the publisher; {tag>>16} is the tag without its last 16 bits, by which readers and permissions select many. Default tagbus.{tag}.{instance}."`
	Domain      string `placeholder:"NAME" group:"A log in NATS JetStream" help:"JetStream domain of the stream. Default: that of the servers."`
	Credentials string `placeholder:"FILE" group:"A log in NATS JetStream" help:"Credentials of a user of NATS: a JWT and a seed."`
	NKey        string `name:"nkey" placeholder:"FILE" group:"A log in NATS JetStream" help:"Seed of a user of NATS. A user and a password stand in --nats: nats://USER:PASSWORD@HOST."`

	Brokers         string `name:"kafka" placeholder:"BROKERS" group:"A log in Kafka" help:"Some of the brokers of Kafka, with commas between them: HOST or HOST:PORT."`
	Topic           string `placeholder:"NAME" group:"A log in Kafka" help:"Topic of Kafka, which exists already: kafka-topics.sh --create --topic NAME --partitions 1 --replication-factor 3 --config cleanup.policy=delete --config min.insync.replicas=2. One bridge writes a topic. With {tag>>48} in it, which stands for the tag without its last 48 bits as hexadecimal digits, it is a pattern of up to 64 topics, and a record is in that of its tag."`
	IndexTopic      string `placeholder:"NAME" group:"A log in Kafka" help:"Topic with the index, which a bridge writes and which exists already, with one partition and cleanup.policy=compact; a pattern if --topic is one. Default: that of --topic and .index."`
	TransactionalID string `name:"transactional-id" placeholder:"ID" group:"A log in Kafka" help:"What the brokers know the bridge by that writes the topic: the same for all of a topic, and a pattern if --topic is one. Default: tagbus-bridge. and the topic."`
	SASL            string `name:"sasl" placeholder:"MECHANISM" group:"A log in Kafka" help:"How the user logs in: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Default SCRAM-SHA-512."`
	SASLUser        string `name:"sasl-user" placeholder:"USER" group:"A log in Kafka" help:"User of Kafka. Default: no login."`
	SASLPassword    string `name:"sasl-password-file" placeholder:"FILE" group:"A log in Kafka" help:"File with the password of the user."`

	MaxKeys int `placeholder:"N" group:"A log in Kafka" help:"How many publishers and tags a topic may have records of, for each of which some 300 bytes of memory are taken. Default 4194304."`

	LogTLS  bool   `name:"log-tls" group:"The log" help:"Talk to the log with TLS, also without --log-ca. A URL tls:// does the same."`
	LogCA   string `name:"log-ca" placeholder:"FILE" group:"The log" help:"Certificates of the CAs, PEM, from which those of the servers of the log must come. Default: those of the system."`
	LogCert string `name:"log-cert" placeholder:"FILE" group:"The log" help:"Certificate of this program for the servers of the log, PEM. Default: none."`
	LogKey  string `name:"log-key" placeholder:"FILE" group:"The log" help:"Its private key."`

	AckTimeout time.Duration `default:"5s" placeholder:"TIME" group:"The log" help:"How long the log may take to acknowledge a record before it is tried again. Default ${default}."`
}

// isKafka reports whether the log is a topic.
func (l *Log) isKafka() bool { return l.Brokers != "" || l.Topic != "" }

// check reports what is wrong with the flags, without a look at files.
func (l *Log) check() error {
	isNATS := l.URL != "" || l.Stream != ""
	switch {
	case isNATS && l.isKafka():
		return errors.New("--nats with --stream is a log, and --kafka with --topic is another one: name one of them")
	case !isNATS && !l.isKafka():
		return errors.New("no log is named: want --nats and --stream, or --kafka and --topic")
	case isNATS && (l.URL == "" || l.Stream == ""):
		return errors.New("a log in NATS JetStream needs --nats and --stream")
	case l.isKafka() && (l.Brokers == "" || l.Topic == ""):
		return errors.New("a log in Kafka needs --kafka and --topic")
	case (l.LogCert == "") != (l.LogKey == ""):
		return errors.New("a certificate for the log needs --log-cert and --log-key")
	case (l.SASLUser == "") != (l.SASLPassword == ""):
		return errors.New("a login to Kafka needs --sasl-user and --sasl-password-file")
	}
	for _, f := range l.strangers() {
		if f.value != "" {
			return fmt.Errorf("%s is no flag of a log in %s", f.name, l.engine())
		}
	}
	if l.isKafka() {
		return l.kafka("").Validate()
	}
	return l.nats("").Validate()
}

// flag is a flag and its value.
type flag struct{ name, value string }

// strangers returns the flags that are for the other engine.
func (l *Log) strangers() []flag {
	if l.isKafka() {
		return []flag{{"--subject", l.Subject}, {"--domain", l.Domain}, {"--credentials", l.Credentials}, {"--nkey", l.NKey}}
	}
	keys := ""
	if l.MaxKeys != 0 {
		keys = strconv.Itoa(l.MaxKeys)
	}
	return []flag{{"--index-topic", l.IndexTopic}, {"--transactional-id", l.TransactionalID}, {"--sasl", l.SASL}, {"--sasl-user", l.SASLUser}, {"--max-keys", keys}}
}

func (l *Log) engine() string {
	if l.isKafka() {
		return "Kafka"
	}
	return "NATS JetStream"
}

// nats returns what package jetstream takes, without what is in files.
func (l *Log) nats(name string) jetstream.Config {
	return jetstream.Config{
		URL: l.URL, Stream: l.Stream, Subject: l.Subject, Domain: l.Domain, Credentials: l.Credentials, NKey: l.NKey,
		AckTimeout: l.AckTimeout, Name: named(name),
	}
}

// kafka returns what package kafka takes, without what is in files.
func (l *Log) kafka(name string) kafka.Config {
	return kafka.Config{
		Brokers: l.Brokers, Topic: l.Topic, Index: l.IndexTopic, TransactionalID: l.TransactionalID,
		User: l.SASLUser, Mechanism: l.SASL, AckTimeout: l.AckTimeout, Name: named(name), MaxKeys: l.MaxKeys,
	}
}

// tls returns what the servers are talked to with; nil: what their addresses ask for.
//
// Errors: those of files, with the flags that name them.
func (l *Log) tls() (*tls.Config, error) {
	if !l.LogTLS && l.LogCA == "" && l.LogCert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.LogCA != "" {
		text, err := stuck.ReadFile(l.LogCA)
		if err != nil {
			return nil, fmt.Errorf("--log-ca: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--log-ca: %s has no certificates: want them as PEM", l.LogCA)
		}
	}
	if l.LogCert != "" {
		var err error
		if c.GetClientCertificate, err = stuck.ClientCertificate(l.LogCert, l.LogKey); err != nil {
			return nil, fmt.Errorf("--log-cert %s and --log-key %s: %w", sanitize.Text(l.LogCert), sanitize.Text(l.LogKey), err)
		}
	}
	return c, nil
}

// opener returns what opens the log for some tags, empty: all; and what tells errors that may go by themselves.
func (l *Log) opener(name string, set tags.Set) (open func(context.Context) (durable.Log, error), away func(error) bool, err error) {
	secure, err := l.tls()
	if err != nil {
		return nil, nil, err
	}
	if !l.isKafka() {
		cfg := l.nats(name)
		cfg.TLS = secure
		return func(ctx context.Context) (durable.Log, error) {
			log, err := jetstream.Open(ctx, cfg)
			if err != nil {
				return nil, err // and no pointer that is nil
			}
			return log, nil
		}, jetstream.Away, nil
	}
	cfg := l.kafka(name)
	cfg.TLS, cfg.Tags = secure, set
	if l.SASLPassword != "" {
		password, err := stuck.ReadFile(l.SASLPassword)
		if err != nil {
			return nil, nil, fmt.Errorf("--sasl-password-file: %w", err)
		}
		cfg.Password = string(bytes.TrimRight(password, "\r\n"))
	}
	return func(ctx context.Context) (durable.Log, error) { return kafka.Open(ctx, cfg) }, kafka.Away, nil
}

// open opens the log for some tags, empty: all; and waits for servers that are away.
func (l *Log) open(ctx context.Context, name string, set tags.Set, say func(format string, args ...any)) (durable.Log, error) {
	open, away, err := l.opener(name, set)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		log, err := open(ctx)
		if err == nil || !away(err) {
			return log, err
		}
		if first {
			say("waiting for the log: %v", err)
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(fmt.Errorf("the log was not there: %w", err), context.Cause(ctx))
		}
	}
}

// Place is the log of a summary.
type Place struct {
	Stream string `json:"stream,omitempty"`
	Topic  string `json:"topic,omitempty"`
}

// String returns what errors call the log.
func (p Place) String() string {
	if p.Topic != "" {
		return "topic " + p.Topic
	}
	return "stream " + p.Stream
}

// place returns the log for a summary.
func (l *Log) place() Place { return Place{Stream: l.Stream, Topic: l.Topic} }

// named returns what others see of the program.
func named(name string) string { return cmp.Or(name, "tagbus-bridge") }
