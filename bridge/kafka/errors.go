// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tagbus/bridge/durable"
	"tagbus/internal/sanitize"
)

// errTimeout is the outcome of what is not answered in time.
var errTimeout = errors.New("bridge/kafka: no answer in time: the brokers are away, slow, or have too few replicas in sync")

// TakenError means that another bridge has begun to write the topic: it is the one that goes on.
type TakenError struct {
	Topic  string
	Writer string    // the other bridge: its name, host and process
	Since  time.Time // when it began
}

// Error names the other bridge, and what to do.
func (e *TakenError) Error() string {
	return sanitize.Linef("bridge/kafka: another bridge writes topic %s, %s, which has begun at %v: let one bridge run for each topic, and give a second one a topic of its own", e.Topic, e.Writer, e.Since.UTC().Format(time.RFC3339))
}

// Unwrap returns durable.ErrRefused.
func (e *TakenError) Unwrap() error { return durable.ErrRefused }

// refuse returns an error that wraps durable.ErrRefused.
func refuse(format string, args ...any) error {
	return fmt.Errorf("bridge/kafka: %w: %s", durable.ErrRefused, sanitize.Linef(format, args...))
}

// named returns an error with the name of the topic, if it is one of several and does not have it.
func (l *Log) named(err error) error {
	if l.several == nil || err == nil || isRefused(err) || errors.Is(err, durable.ErrConflict) || errors.Is(err, durable.ErrClosed) {
		return err
	}
	return fmt.Errorf("%s: %w", l.Name(), err)
}

// explain returns what an error of a broker or of the client means for a bridge.
func (l *Log) explain(err error) error {
	var (
		certificate *tls.CertificateVerificationError
		header      tls.RecordHeaderError
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, durable.ErrRefused), errors.Is(err, durable.ErrConflict), errors.Is(err, durable.ErrClosed):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		why := l.connects.last()
		switch {
		case why == nil, errors.Is(why, context.DeadlineExceeded), errors.Is(why, context.Canceled):
			return errTimeout
		case errors.Is(why, io.EOF):
			return fmt.Errorf("bridge/kafka: the brokers end connections at once, as some do for a wrong login, and for TLS that is missing or not theirs: %w", why)
		}
		return l.explain(why)
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return refuse("%v: the brokers do not take the user %q with %s; name another one", err, l.cfg.User, l.cfg.Mechanism)
	case errors.As(err, &certificate):
		return refuse("%v: name the CA that has signed the certificates of the brokers, and the brokers as those certificates do", err)
	case errors.As(err, &header):
		return refuse("%v: the brokers do not speak TLS there: name the port that does, or leave TLS out", err)
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return refuse("%v: the user needs Read, Write, Describe and DescribeConfigs on the topics %s and %s; without Write for what only reads", err, l.cfg.Topic, l.cfg.Index)
	case errors.Is(err, kerr.TransactionalIDAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return refuse("%v: the user needs Write and Describe on the transactional id %s", err, l.cfg.TransactionalID)
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return refuse("%v: the brokers take no transaction of %v: raise transaction.max.timeout.ms, or take a shorter AckTimeout", err, l.cfg.transactionTimeout())
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return refuse("%v: topic %s has a lower max.message.bytes than at the start: start again", err, l.cfg.Topic)
	case errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID):
		return refuse("%v: topic %s or %s was deleted, or made again: start again", err, l.cfg.Topic, l.cfg.Index)
	case errors.Is(err, kerr.UnsupportedVersion), errors.Is(err, kerr.UnsupportedForMessageFormat):
		return refuse("%v: the brokers are too old: a bridge needs transactions, which Kafka has since 0.11", err)
	}
	return fmt.Errorf("bridge/kafka: %w", err)
}

// Away reports whether an error of Open may go by itself: no broker answers, or they are not ready.
func Away(err error) bool {
	return err != nil && !errors.Is(err, durable.ErrRefused) && !errors.Is(err, durable.ErrClosed) && !errors.Is(err, ErrInvalidConfig) && !errors.Is(err, context.Canceled)
}
