// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
	"tagbus/internal/sanitize"
)

// Codes of errors of the server that nats.go does not name.
const (
	codeWrongLast         jetstream.ErrorCode = 10071
	codeWrongLastConstant jetstream.ErrorCode = 10164
	codeExpectedStream    jetstream.ErrorCode = 10060
	codeSealed            jetstream.ErrorCode = 10109
	codeDuplicateConflict jetstream.ErrorCode = 10158
)

// refuse returns an error that wraps durable.ErrRefused.
func (l *Log) refuse(format string, args ...any) error {
	return fmt.Errorf("bridge/jetstream: %w: %s", durable.ErrRefused, sanitize.Linef(format, args...))
}

// explain returns what an error of nats.go means for a bridge.
func (l *Log) explain(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return l.explainAPI(api)
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return l.refuse("%v: the servers have a lower max_payload than at the start: start again", err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return l.refuse("%v: the servers do not take the credentials; name others", err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return l.refuse("%v: the user needs to publish to %s and %s>, and to subscribe to _INBOX.>", err, l.subjects.all(), l.cfg.prefix())
	case errors.Is(err, nats.ErrConnectionClosed):
		return durable.ErrClosed
	}
	return fmt.Errorf("bridge/jetstream: %w", err)
}

func (l *Log) explainAPI(e *jetstream.APIError) error {
	switch e.ErrorCode {
	case codeWrongLast, codeWrongLastConstant:
		return durable.ErrConflict
	case codeDuplicateConflict: // the first one is on its way still
		return fmt.Errorf("bridge/jetstream: %w", e)
	case jetstream.JSErrCodeStreamNotFound:
		return l.refuse("stream %s does not exist: make it, as with nats stream add %[1]s --subjects '%s' --storage file --retention limits", l.cfg.Stream, l.subjects.all())
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return l.refuse("%s: enable JetStream at the servers, or name other ones", e.Description)
	case jetstream.JSErrCodeStreamMessageExceedsMaximum, codeExpectedStream, codeSealed:
		return l.refuse("stream %s: %s", l.cfg.Stream, e.Description)
	default:
	}
	return fmt.Errorf("bridge/jetstream: stream %s: %w", l.cfg.Stream, e)
}

// away returns the error of an outage.
func away(err error) error {
	if err == nil {
		err = nats.ErrDisconnected
	}
	return fmt.Errorf("bridge/jetstream: the servers are away: %w", err)
}

// Away reports whether an error of Open may go by itself: no server answers, or JetStream is not ready.
func Away(err error) bool {
	return err != nil && !errors.Is(err, durable.ErrRefused) && !errors.Is(err, ErrInvalidConfig) && !errors.Is(err, context.Canceled) &&
		(errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || temporary(err))
}

// temporary reports whether a server answers that JetStream is not ready.
func temporary(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 503
}

// redacted returns URLs without passwords.
func redacted(urls string) string {
	var all []string
	for one := range strings.SplitSeq(urls, ",") {
		all = append(all, sanitize.URL(strings.TrimSpace(one)))
	}
	return strings.Join(all, ",")
}
