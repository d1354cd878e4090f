// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"tagbus/internal/validate"
	"tagbus/tags"
)

// ErrInvalidConfig is wrapped in the errors of Config.Validate, once for each violation.
var ErrInvalidConfig = errors.New("bridge/kafka: invalid configuration")

// Mechanisms of Config.Mechanism.
const (
	MechanismPlain    = "PLAIN"
	MechanismScram256 = "SCRAM-SHA-256"
	MechanismScram512 = "SCRAM-SHA-512"
)

// Limits of Config.
const (
	maxTopic = 249             // bytes of a name
	maxAck   = 7 * time.Minute // half of the longest transaction that brokers take by default
)

// Config says where the topic is. Brokers and Topic have no default.
type Config struct {
	// Brokers has some of the brokers, with commas between them: HOST or HOST:PORT. The default port is
	// 9092.
	Brokers string

	// Topic has the records. It exists already.
	//
	// With {tag} or {tag>>N} in it, which stand for the 16 hexadecimal digits of a tag and for those that are left without its
	// last N bits, it is a pattern of topics: a record is in the one that its tag gives. They are 64 at most.
	Topic string

	// Tags are those whose topics are looked at, if Topic is a pattern. If those are 64 topics at most, all of them
	// exist already. Default: all tags, in the topics that exist.
	Tags tags.Set

	// Index is the topic with the index of Topic, which a bridge writes and reads at its start. It
	// exists already, unless Topic is only read. It is a pattern as Topic is. Default: Topic and ".index".
	Index string

	// TransactionalID is what brokers know the bridge by that writes Topic. All bridges of a topic have
	// the same one, so that a bridge that begins ends the one before it. It is a pattern as Topic is. Default:
	// "tagbus-bridge." and Topic.
	TransactionalID string

	// Name is what the brokers and other bridges show of this one. Default "tagbus-bridge".
	Name string

	// User and Password log in, with a Mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Default: no
	// login, and SCRAM-SHA-512.
	User, Password string
	Mechanism      string

	// TLS is what the brokers are talked to with; nil: without TLS.
	TLS *tls.Config

	// AckTimeout is how long a transaction may take, and a request. An append may wait for the
	// transaction before it, too. Default 5s; 100ms to 7m.
	AckTimeout time.Duration

	// CheckpointBytes is how much is written before the index is brought up to date. A start reads
	// the index, and about as much of Topic. Default 16 MiB; 1 to 1 TiB.
	CheckpointBytes int64

	// MaxKeys is how many publishers and tags a topic may have records of, for each of which a bridge
	// keeps some 300 bytes, as does a reader that asks for the last records. Default 4,194,304; 1 to 2^31-1.
	MaxKeys int
}

func (c Config) withDefaults() Config {
	validate.Default(&c.Index, c.Topic+".index")
	validate.Default(&c.TransactionalID, "tagbus-bridge."+c.Topic)
	validate.Default(&c.Name, "tagbus-bridge")
	validate.Default(&c.Mechanism, MechanismScram512)
	validate.Default(&c.AckTimeout, 5*time.Second)
	validate.Default(&c.CheckpointBytes, 16<<20)
	validate.Default(&c.MaxKeys, 1<<22)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit. None has a password.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if c.Brokers == "" {
		v.Add("Brokers are empty, want some of them, such as HOST:9092")
	}
	for _, broker := range c.brokers() {
		if at := strings.LastIndexByte(broker, '@'); at >= 0 {
			v.Add("Brokers have a user in front of %q, want User and Password", broker[at+1:])
		} else if !address(broker) {
			v.Add("Brokers have %q, want HOST or HOST:PORT", broker)
		}
	}
	c.validateTopics(&v)
	if c.Password != "" && c.User == "" {
		v.Add("Password is set without User")
	}
	if c.mechanism() == nil {
		v.Add("Mechanism is %q, want %s, %s or %s", c.Mechanism, MechanismPlain, MechanismScram256, MechanismScram512)
	}
	validate.Within(&v, "AckTimeout", c.AckTimeout, 100*time.Millisecond, maxAck)
	validate.Within(&v, "CheckpointBytes", c.CheckpointBytes, 1, 1<<40)
	validate.Within(&v, "MaxKeys", c.MaxKeys, 1, math.MaxInt32)
	return v.Err()
}

// validateTopics adds what is wrong with the names of topics, or of the first ones of patterns.
func (c Config) validateTopics(v *validate.Violations) {
	if isPattern(c.Topic) {
		p, err := c.patterns()
		if err != nil {
			v.Join(err)
			return
		}
		c = p.config(c, 0)
	}
	if !topicName(c.Topic) {
		v.Add("Topic is %q, want letters, digits, dots, - and _, up to %d", c.Topic, maxTopic)
	}
	if c.Topic != "" && !topicName(c.Index) || c.Index == c.Topic {
		v.Add("Index is %q, want a topic beside %q of letters, digits, dots, - and _, up to %d", c.Index, c.Topic, maxTopic)
	}
}

// brokers returns the addresses one by one.
func (c Config) brokers() (all []string) {
	for one := range strings.SplitSeq(c.Brokers, ",") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// address reports whether a text is HOST or HOST:PORT.
func address(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = s, "9092"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && host != "" && !strings.ContainsAny(host, " \t\r\n/@")
}

// topicName reports whether a text is what Kafka takes as the name of a topic.
func topicName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= maxTopic && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// mechanism returns how to log in; nil if there is no such way.
func (c Config) mechanism() sasl.Mechanism {
	switch c.Mechanism {
	case MechanismPlain:
		return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism()
	case MechanismScram256:
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha256Mechanism()
	case MechanismScram512:
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha512Mechanism()
	}
	return nil
}

// client returns a client of the brokers.
func (c Config) client(more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(c.brokers()...), kgo.ClientID(c.Name), kgo.DisableClientMetrics(), kgo.MaxDecompressBatchBytes(batchBytes),
		kgo.DialTimeout(c.AckTimeout), kgo.RequestTimeoutOverhead(c.AckTimeout), kgo.MetadataMinAge(min(c.AckTimeout, 250*time.Millisecond)),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(20*time.Millisecond<<min(tries, 5), 500*time.Millisecond) }),
	}
	if c.User != "" {
		options = append(options, kgo.SASL(c.mechanism()))
	}
	if c.TLS != nil {
		options = append(options, kgo.DialTLSConfig(c.TLS))
	}
	return kgo.NewClient(append(options, more...)...)
}

// transactionTimeout is how long a transaction of a bridge that is gone holds up readers, if none begins after it.
func (c Config) transactionTimeout() time.Duration { return max(2*c.AckTimeout, time.Second) }

// redacted returns the brokers for texts.
func (c Config) redacted() string { return cmp.Or(strings.Join(c.brokers(), ","), "no brokers") }
