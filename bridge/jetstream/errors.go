// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
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
	var (
		api         *jetstream.APIError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &api):
		return l.explainAPI(api)
	case errors.Is(err, nats.ErrMaxPayload):
		return l.refuse("%v: the servers have a lower max_payload than at the start: start again", err)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return l.refuse("%v: the servers do not take the credentials; name others", err)
	case errors.Is(err, nats.ErrPermissionViolation):
		return l.refuse("%v: the user needs to publish to %s and %s>, and to subscribe to _INBOX.>", err, l.subjects.all(), l.cfg.prefix())
	case errors.As(err, &certificate):
		return l.refuse("%v: name the CA that has signed the certificates of the servers, and the servers as those certificates do", err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return l.refuse("%v: the servers have no TLS: leave it out, or name ones that have", err)
	case isTLS(err):
		return l.refuse("%v: the servers do not take the certificate, or do not speak TLS there: name another certificate, or the port that does", err)
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

// Away reports whether an error of Open may go by itself: no server answers, or JetStream is not ready. What a file, a
// certificate or the configuration is the cause of does not.
func Away(err error) bool {
	for _, own := range []error{nil, durable.ErrRefused, durable.ErrClosed, ErrInvalidConfig, context.Canceled} {
		if errors.Is(err, own) {
			return false
		}
	}
	var (
		api     *jetstream.APIError
		file    *fs.PathError
		address *net.AddrError
	)
	switch {
	case errors.As(err, &api):
		return api.Code >= 500 // the server's failure, and not the question's
	case errors.As(err, &file), errors.As(err, &address), isTLS(err):
		return false
	}
	return true
}

// isTLS reports whether the two sides do not take the certificate of each other, or only one of them speaks TLS.
func isTLS(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		header      tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.Is(err, nats.ErrSecureConnWanted) || errors.As(err, &certificate) || errors.As(err, &header) || errors.As(err, &alert)
}

// redacted returns URLs without passwords.
func redacted(urls string) string {
	var all []string
	for one := range strings.SplitSeq(urls, ",") {
		all = append(all, sanitize.URL(strings.TrimSpace(one)))
	}
	return strings.Join(all, ",")
}
