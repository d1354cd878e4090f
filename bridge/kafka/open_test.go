// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/kafka"
)

// allowed is what a user may do.
func allowed(resource kmsg.ACLResourceType, name string, operations ...kmsg.ACLOperation) (all []kfake.ACL) {
	for _, o := range operations {
		all = append(all, kfake.ACL{Resource: resource, Name: name, Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: o, Allow: true})
	}
	return all
}

// certificate returns one of its own CA.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// refusing returns brokers that answer a login as those of Apache Kafka do: the one in memory ends the connection.
func refusing(t *testing.T) string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "admin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	return c.ListenAddrs()[0]
}

// openly returns brokers without a login, with some topics.
func openly(t *testing.T) string {
	t.Helper()
	brokers := kafkaserver.InMemory(t)
	client := kafkaserver.Client(t, brokers)
	kafkaserver.Topic(t, client, "compacted", 1, "cleanup.policy=compact")
	kafkaserver.Topic(t, client, "both", 1, "cleanup.policy=compact,delete")
	kafkaserver.Topic(t, client, "small", 1, "max.message.bytes=2000")
	kafkaserver.Topic(t, client, "good", 1)
	return brokers
}

// lockedUp returns brokers with users: bridge may do nothing, and reader may read the topic t.
func lockedUp(t *testing.T) string {
	t.Helper()
	brokers := kafkaserver.InMemory(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "admin", "admin"),
		kfake.User("SCRAM-SHA-512", "bridge", "right"), kfake.User("SCRAM-SHA-256", "reader", "right", append(
			allowed(kmsg.ACLResourceTypeTopic, "t", kmsg.ACLOperationRead, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs),
			allowed(kmsg.ACLResourceTypeTransactionalId, "t", kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe)...)...))
	admin := kafkaserver.Client(t, brokers, kgo.SASL(plain.Auth{User: "admin", Pass: "admin"}.AsMechanism()))
	kafkaserver.Topic(t, admin, "t", 1)
	kafkaserver.Topic(t, admin, "t.index", 1, "cleanup.policy=compact")
	return brokers
}

// TestOpen_namesWhatDoesNotFit and what to do.
func TestOpen_namesWhatDoesNotFit(t *testing.T) {
	plainly, locked := openly(t), lockedUp(t)
	pair := certificate(t)
	secure := kafkaserver.InMemory(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	known := x509.NewCertPool()
	known.AddCert(pair.Leaf)
	soon := 2 * time.Second
	for _, test := range []struct {
		name string
		cfg  kafka.Config
		want error
		text string
	}{
		{"no topic", kafka.Config{Brokers: plainly, Topic: "none"}, durable.ErrRefused, "topic none does not exist: make it, as with kafka-topics.sh"},
		{"a topic that forgets", kafka.Config{Brokers: plainly, Topic: "compacted"}, durable.ErrRefused, "topic compacted has cleanup.policy=compact"},
		{"a topic that forgets in both ways", kafka.Config{Brokers: plainly, Topic: "both"}, durable.ErrRefused, "make one with cleanup.policy=delete"},
		{"a small limit", kafka.Config{Brokers: plainly, Topic: "small"}, durable.ErrRefused, "records of 2000 bytes at most"},
		{"no broker", kafka.Config{Brokers: "127.0.0.1:1", Topic: "good", AckTimeout: soon}, nil, "connect to 127.0.0.1:1"},
		{"a wrong password", kafka.Config{Brokers: refusing(t), Topic: "t", User: "bridge", Password: "wrong", Mechanism: "PLAIN"}, durable.ErrRefused, `do not take the user "bridge" with PLAIN`},
		{"a wrong password that is not answered", kafka.Config{Brokers: locked, Topic: "t", User: "bridge", Password: "wrong", AckTimeout: 3 * soon}, nil, "as some do for a wrong login"},
		{"no login", kafka.Config{Brokers: locked, Topic: "t", AckTimeout: soon}, nil, "connect to"},
		{"no permission", kafka.Config{Brokers: locked, Topic: "t", User: "bridge", Password: "right"}, durable.ErrRefused, "the user needs Read, Write, Describe and DescribeConfigs on the topics t and t.index"},
		{"an unknown CA", kafka.Config{Brokers: secure, Topic: "good", TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, durable.ErrRefused, "name the CA"},
		{"TLS with brokers that have none", kafka.Config{Brokers: plainly, Topic: "good", TLS: &tls.Config{RootCAs: known, MinVersion: tls.VersionTLS12}, AckTimeout: soon}, nil, ""},
		{"no TLS with brokers that have it", kafka.Config{Brokers: secure, Topic: "good", AckTimeout: soon}, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.cfg.AckTimeout == 0 {
				test.cfg.AckTimeout = time.Minute // what refuses a bridge ends Open, whenever the host comes to it
			}
			log, err := kafka.Open(t.Context(), test.cfg)
			if err == nil {
				_ = log.Close()
			}
			if err != nil && !strings.Contains(err.Error(), test.text) && test.cfg.AckTimeout < time.Minute {
				test.cfg.AckTimeout = time.Minute // this host was not even that far
				_, err = kafka.Open(t.Context(), test.cfg)
			}
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), `"wrong"`) {
				t.Errorf("got %v, want %v with %q", err, test.want, test.text)
			}
			if kafka.Away(err) == errors.Is(err, durable.ErrRefused) {
				t.Errorf("got away %t for %v", kafka.Away(err), err)
			}
		})
	}
	t.Run("TLS", func(t *testing.T) {
		_, err := kafka.Open(t.Context(), kafka.Config{Brokers: secure, Topic: "good", TLS: &tls.Config{RootCAs: known, MinVersion: tls.VersionTLS12}})
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "topic good does not exist") {
			t.Errorf("got %v, want an answer of the brokers", err)
		}
	})
	t.Run("no permission to write", func(t *testing.T) {
		log := open(t, kafka.Config{Brokers: locked, Topic: "t", TransactionalID: "t", User: "reader", Password: "right", Mechanism: "SCRAM-SHA-256"})
		if got := read(t, log, durable.Query{}); got != nil {
			t.Errorf("got %q, want nothing", got)
		}
		if _, err := appendOne(log, "ALICE", 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "the user needs") {
			t.Errorf("got %v, want what the user needs", err)
		}
	})
}

// TestConfig_Validate names each violation.
func TestConfig_Validate(t *testing.T) {
	err := kafka.Config{
		Brokers: "a:x,b c", Topic: "a/b", Index: "a/b", Password: "secret", Mechanism: "GSSAPI", AckTimeout: -1, CheckpointBytes: -1, MaxKeys: -1,
	}.Validate()
	for _, want := range []string{`Brokers have "a:x"`, `Brokers have "b c"`, `Topic is "a/b"`, `Index is "a/b"`, "Password is set without User", `Mechanism is "GSSAPI"`, "AckTimeout is -1ns", "CheckpointBytes is -1", "MaxKeys is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if errors.Is(err, kafka.ErrInvalidConfig) == strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want ErrInvalidConfig without the password", err)
	}
	if err := (kafka.Config{Brokers: "host, [::1]:9093", Topic: "t"}).Validate(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if _, err := kafka.Open(t.Context(), kafka.Config{}); !errors.Is(err, kafka.ErrInvalidConfig) || kafka.Away(err) {
		t.Errorf("got %v from Open, want ErrInvalidConfig", err)
	}
}
