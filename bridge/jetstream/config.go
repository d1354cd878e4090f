// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
)

// ErrInvalidConfig is wrapped in the errors of Config.Validate, once for each violation.
var ErrInvalidConfig = errors.New("bridge/jetstream: invalid configuration")

// Config says where the stream is. URL and Stream have no default.
type Config struct {
	// URL has the servers, with commas between them: nats://HOST or tls://HOST.
	URL string

	// Stream is the name of the stream, which exists already.
	Stream string

	// Subject is the pattern of the subjects: {tag} stands for the tag as 16 hexadecimal digits, and
	// {instance} for the instance of the publisher, each as a part of its own between dots. {tag>>N} may
	// stand in more parts: the tag without its last N bits, a multiple of 4. Default
	// "tagbus.{tag}.{instance}".
	Subject string

	// Domain is the JetStream domain of the stream. Default: that of the servers.
	Domain string

	// Name is what the servers show of the connection. Default "tagbus-bridge".
	Name string

	// Credentials and NKey are files with a user's JWT and seed, or a seed alone. User and Password,
	// or Token, are those of a server that has these. At most one of the four ways. Default: none.
	Credentials, NKey     string
	User, Password, Token string

	// TLS is what the servers are talked to with; nil: what the URL asks for.
	TLS *tls.Config

	// AckTimeout is how long an append may wait for its acknowledgement, and a request for its
	// answer. Default 5s; 1ms to ten years.
	AckTimeout time.Duration
}

func (c Config) withDefaults() Config {
	validate.Default(&c.Subject, "tagbus."+tagToken+"."+instanceToken)
	validate.Default(&c.Name, "tagbus-bridge")
	validate.Default(&c.AckTimeout, 5*time.Second)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit. None has a password or token.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if c.URL == "" {
		v.Add("URL is empty, want those of the servers, such as nats://HOST")
	}
	for one := range strings.SplitSeq(c.URL, ",") { // the error of nats.go, and that of url.Parse, have a password
		if _, err := url.Parse(strings.TrimSpace(one)); err != nil && strings.Contains(one, "://") {
			v.Add("URL has %s, which is malformed: write %%40 for @ in a password, and so on", sanitize.URL(strings.TrimSpace(one)))
		}
	}
	if c.Stream == "" || strings.ContainsAny(c.Stream, " \t\r\n.*>/\\") {
		v.Add("Stream is %q, want the name of a stream, without blanks, dots, * and >", c.Stream)
	}
	if _, err := parseSubjects(c.Subject); err != nil {
		v.Field("Subject", err)
	}
	if strings.ContainsAny(c.Domain, " \t\r\n.*>") {
		v.Add("Domain is %q, want a name without blanks, dots, * and >", c.Domain)
	}
	ways := 0
	for _, set := range []bool{c.Credentials != "", c.NKey != "", c.User != "" || c.Password != "", c.Token != ""} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		v.Add("Credentials, NKey, User and Token are %d ways to log in, want one", ways)
	}
	validate.Within(&v, "AckTimeout", c.AckTimeout, time.Millisecond, validate.MaxDuration)
	return v.Err()
}

// options returns those of the connection.
func (c Config) options() ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(c.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectBufSize(-1), // what is appended while the servers are away fails at once, and is appended again
		nats.Timeout(c.AckTimeout),
		// Servers that hang, or whose machine is gone, are left for others after three times the interval, and hold nothing
		// that writes to them for longer than AckTimeout. By default these are minutes.
		nats.PingInterval(max(c.AckTimeout, time.Second)), nats.MaxPingsOutstanding(2), nats.FlusherTimeout(c.AckTimeout),
	}
	switch {
	case c.Credentials != "":
		user := nats.UserCredentials(c.Credentials)
		if err := readable(user); err != nil {
			return nil, fmt.Errorf("file of Credentials: %w", err)
		}
		options = append(options, user)
	case c.NKey != "":
		seed, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("NKey: %w", err)
		}
		options = append(options, seed)
	case c.Token != "":
		options = append(options, nats.Token(c.Token))
	case c.User != "":
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.TLS != nil {
		options = append(options, nats.Secure(c.TLS))
	}
	return options, nil
}

// readable returns what is wrong with the file of an option: what a connection says of it looks like one of an outage.
func readable(user nats.Option) error {
	var o nats.Options
	if err := user(&o); err != nil {
		return err
	}
	_, err := o.UserJWT()
	if err == nil {
		_, err = o.SignatureCB(nil)
	}
	return err
}

// prefix returns what the subjects of the JetStream API begin with.
func (c Config) prefix() string {
	if c.Domain == "" {
		return "$JS.API."
	}
	return "$JS." + c.Domain + ".API."
}
