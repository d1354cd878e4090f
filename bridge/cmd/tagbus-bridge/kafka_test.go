// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// TestFromOneBusToAnother_overATopic whose broker is killed: each message comes once, in its order, also to what follows.
func TestFromOneBusToAnother_overATopic(t *testing.T) {
	t.Parallel()
	server := kafkaserver.Start(t)
	overATopic(t, server, kafkaserver.Topics(t, kafkaserver.Client(t, server.Brokers), 2))
}

// TestFromOneBusToAnother_overTopicsOfAPattern is as with one topic.
func TestFromOneBusToAnother_overTopicsOfAPattern(t *testing.T) {
	t.Parallel()
	server := kafkaserver.Start(t)
	client := kafkaserver.Client(t, server.Brokers)
	for tag := range 2 {
		name := fmt.Sprintf("tagbus-%016x", 1+tag)
		kafkaserver.Topic(t, client, name, 1)
		kafkaserver.Topic(t, client, name+".index", 1, "cleanup.policy=compact")
	}
	overATopic(t, server, "tagbus-{tag}")
}

func overATopic(t *testing.T, server *kafkaserver.Server, topic string) {
	t.Helper()
	here, there := t.TempDir(), t.TempDir()
	set := tags.Of(1, 2)
	p, err := open(t, here).NewPublisher(bus.PublisherConfig{Tags: set})
	must(t, err)
	publish := counting(t, p, set)
	log := []string{"--backend", "tcp", "--kafka", server.Brokers, "--topic", topic, "--ack-timeout", "1s", "--json"}
	out := start(t, append([]string{"out", "--bus", here, "--tags", "1-2"}, log...)...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	const total = 500
	all := receiveAll(t, open(t, there), set, total)
	follower := start(t, append([]string{"in", "--bus", there, "--follow"}, log...)...)
	publish(200)
	server.Kill()
	publish(100)
	server.Restart()
	publish(total - 300)
	must(t, p.Drain(t.Context()))
	must(t, p.Close())
	must(t, out.Process.Signal(syscall.SIGTERM))
	if code, sum := out.wait(t); code != 0 || sum["lost"] != 0. || sum["topic"] != topic || sum["stream"] != nil {
		t.Errorf("got status %d and %v, want 0 and nothing lost in the topic; it said\n%s", code, sum, out.err.String())
	}
	<-all
	must(t, follower.Process.Signal(syscall.SIGTERM))
	if code, sum := follower.wait(t); code != 0 || sum["messages"] != 2.*total {
		t.Errorf("got status %d and %v, want 0 and %d messages; it said\n%s", code, sum, 2*total, follower.err.String())
	}

	if sum := wantIn(t, set, total, log...); sum["topic"] != topic {
		t.Errorf("got %v, want the topic %s", sum, topic)
	}
}

// receiveAll subscribes to two tags, and closes what it returns when the messages 1 to total of each have come, in their order.
func receiveAll(t *testing.T, n *node.Node, set tags.Set, total uint64) <-chan struct{} {
	t.Helper()
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	got, whole, done := make(map[tags.Tag]uint64), 0, make(chan struct{})
	_, err = s.Subscribe(set, func(m bus.Message) {
		if now := binary.BigEndian.Uint64(m.Data); now != got[m.Tag]+1 {
			t.Errorf("tag %v: got message %d behind %d", m.Tag, now, got[m.Tag])
		}
		if got[m.Tag]++; got[m.Tag] == total {
			if whole++; whole == 2 {
				close(done)
			}
		}
	})
	must(t, err)
	return done
}

// TestBadInput_ofALog ends with a status that scripts can tell, and says what is wrong.
func TestBadInput_ofALog(t *testing.T) {
	brokers := kafkaserver.InMemory(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	must(t, os.WriteFile(empty, nil, 0o600))
	const topic = "--kafka 127.0.0.1:1 --topic T"
	for _, test := range []struct {
		name string
		args string
		code int
		text string
	}{
		{"no log", "", 2, "want --nats and --stream, or --kafka and --topic"},
		{"two logs", topic + " --nats nats://127.0.0.1:1 --stream S", 2, "name one of them"},
		{"half a log", "--kafka 127.0.0.1:1", 2, "a log in Kafka needs --kafka and --topic"},
		{"half of the other one", "--stream S", 2, "needs --nats and --stream"},
		{"a flag of the other engine", topic + " --nkey f", 2, "--nkey is no flag of a log in Kafka"},
		{"a pattern of subjects", topic + " --subject t.{tag}.{instance}", 2, "--subject is no flag of a log in Kafka"},
		{"a bound of Kafka", "--nats nats://127.0.0.1:1 --stream S --max-keys 5", 2, "--max-keys is no flag of a log in NATS JetStream"},
		{"a flag of Kafka", "--nats nats://127.0.0.1:1 --stream S --sasl-user u --sasl-password-file f", 2, "--sasl-user is no flag of a log in NATS JetStream"},
		{"a user without a password", topic + " --sasl-user u", 2, "--sasl-user and --sasl-password-file"},
		{"a mechanism that is none", topic + " --sasl GSSAPI", 2, `--sasl is "GSSAPI"`},
		{"a certificate without a key", topic + " --log-cert f", 2, "--log-cert and --log-key"},
		{"a pattern that is none", "--kafka 127.0.0.1:1 --topic t-{tag>>3}", 2, "--topic: \"t-{tag>>3}\": {tag>>3}: want {tag>>N}"},
		{"an index for all topics of a pattern", "--kafka 127.0.0.1:1 --topic t-{tag>>48} --index-topic i", 2, "--index-topic is \"i\", want a pattern"},
		{"a pattern without topics", "--kafka " + brokers + " --topic t-{tag>>48}", 1, "topic t-0000 does not exist: make it, as with kafka-topics.sh"},
		{"no name of a topic", "--kafka 127.0.0.1:1 --topic a/b", 2, `--topic is "a/b"`},
		{"no file with CAs", topic + " --log-ca /does/not/exist", 1, "--log-ca: open /does/not/exist"},
		{"a file without CAs", topic + " --log-ca " + empty, 1, "has no certificates: want them as PEM"},
		{"no file with the password", topic + " --sasl-user u --sasl-password-file /does/not/exist", 1, "--sasl-password-file: open /does/not/exist"},
		{"a topic that does not exist", "--kafka " + brokers + " --topic NONE", 1, "topic NONE does not exist: make it, as with kafka-topics.sh"},
		{"brokers that never come", topic + " --duration 100ms --ack-timeout 200ms", 1, "the log was not there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append([]string{"out", "--tags", "1", "--bus", t.TempDir()}, strings.Fields(test.args)...)...)
			if code, _ := p.wait(t); code != test.code || !strings.Contains(p.err.String(), test.text) {
				t.Errorf("got status %d and\n%swant %d and %q", code, p.err.String(), test.code, test.text)
			}
		})
	}
}
