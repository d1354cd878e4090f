// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tagbus/internal/sanitize"
)

// Bounds of a principal. A certificate beyond them is refused as a whole.
const (
	MaxNames      = 32   // of the kind that counts
	MaxNameBytes  = 1024 // of one, with its kind
	MaxNamesBytes = 4096 // of all together
)

// AnonymousName is the name of a peer that has shown no certificate.
const AnonymousName = "anonymous"

// Errors of names. They are inside a *NameError.
var (
	// ErrNoName is the error of a certificate without a URI, a DNS name and a common name.
	// Issue one with a name.
	ErrNoName = errors.New("no name: want a URI or a DNS name among the subject's alternative names, or a common name")

	// ErrTooManyNames is the error of more than MaxNames names, or MaxNamesBytes bytes of them.
	// Issue a certificate with fewer.
	ErrTooManyNames = errors.New("too many names")

	// ErrLongName is the error of a name of more than MaxNameBytes. Shorten it.
	ErrLongName = errors.New("name too long")

	// ErrUnsafeName is the error of a name with characters that are not shown, such as line ends.
	// Leave them out.
	ErrUnsafeName = errors.New("name with characters that cannot be shown")

	// ErrUnknownKind is the error of a text that names no principal. Begin it with uri:, dns: or
	// cn:, or write anonymous.
	ErrUnknownKind = errors.New("not a name of a peer: want uri:…, dns:…, cn:… or anonymous")
)

// NameError reports a certificate, or a text, that names no principal.
type NameError struct {
	Name string // the name at fault, with its kind; empty if it is about all of them
	Err  error  // one of the errors above, which may be wrapped
}

// Error says what is wrong, with the beginning of the name.
func (e *NameError) Error() string {
	if e.Name == "" {
		return sanitize.Error(e.Err)
	}
	return sanitize.Text(sanitize.Cut(e.Name, 80)) + ": " + sanitize.Error(e.Err)
}

// Unwrap returns Err.
func (e *NameError) Unwrap() error { return e.Err }

// Principal is what a peer is called. Each name begins with its kind:
//
//	uri:spiffe://cern.ch/daq/felix-07    a URI among the subject's alternative names
//	dns:felix-07.cern.ch                 a DNS name there, in lower case
//	cn:shift leader                      the common name of the subject
//
// All names are of one kind: if a certificate has URIs, only these count, else its DNS names, and
// its common name only if it has neither. The zero value is a peer without a certificate.
//
// Principals may be compared, and be keys of maps: two are equal if they have the same names.
type Principal struct {
	names string // sorted, each followed by separator; no name has one in it
}

// separator stands behind each name of a Principal.
const separator = "\n"

// PrincipalOf returns what the subject of a certificate is called. It does not check the
// certificate: Store.Verify does both.
//
//   - Errors: *NameError.
func PrincipalOf(c *x509.Certificate) (Principal, error) {
	count := len(c.URIs)
	name := func(i int) string { return "uri:" + c.URIs[i].String() }
	switch {
	case count > 0:
	case len(c.DNSNames) > 0:
		count = len(c.DNSNames)
		name = func(i int) string { return "dns:" + c.DNSNames[i] }
	case c.Subject.CommonName != "":
		count = 1
		name = func(int) string { return "cn:" + c.Subject.CommonName }
	default:
		return Principal{}, &NameError{Err: ErrNoName}
	}
	if count > MaxNames {
		return Principal{}, &NameError{Err: fmt.Errorf("%w: %d, at most %d may be", ErrTooManyNames, count, MaxNames)}
	}
	names := make([]string, count)
	for i := range names {
		names[i] = name(i)
	}
	return NewPrincipal(names...)
}

// NewPrincipal returns a principal of names with their kinds. No name, or the name anonymous
// alone, is a peer without a certificate.
//
//   - Errors: *NameError, also if the kinds differ.
func NewPrincipal(names ...string) (Principal, error) {
	if len(names) == 0 || len(names) == 1 && names[0] == AnonymousName {
		return Principal{}, nil
	}
	if len(names) > MaxNames {
		return Principal{}, &NameError{Err: fmt.Errorf("%w: %d, at most %d may be", ErrTooManyNames, len(names), MaxNames)}
	}
	sorted := make([]string, 0, len(names))
	size := 0
	for _, n := range names {
		if err := checkName(n); err != nil {
			return Principal{}, err
		}
		if kindOf(n) != kindOf(names[0]) {
			return Principal{}, &NameError{n, fmt.Errorf("%w; all names of a peer are of one kind", ErrUnknownKind)}
		}
		if kindOf(n) == "dns:" {
			n = strings.ToLower(n)
		}
		size += len(n)
		sorted = append(sorted, n)
	}
	if size > MaxNamesBytes {
		return Principal{}, &NameError{Err: fmt.Errorf("%w: %d bytes, at most %d may be", ErrTooManyNames, size, MaxNamesBytes)}
	}
	slices.Sort(sorted)
	return Principal{strings.Join(slices.Compact(sorted), separator) + separator}, nil
}

// kindOf returns the kind with which a name begins; empty if it begins with none.
func kindOf(name string) string {
	for _, kind := range []string{"uri:", "dns:", "cn:"} {
		if strings.HasPrefix(name, kind) {
			return kind
		}
	}
	return ""
}

// checkName reports what is wrong with a name.
func checkName(name string) error {
	switch kind := kindOf(name); {
	case kind == "" || name == kind:
		return &NameError{name, ErrUnknownKind}
	case len(name) > MaxNameBytes:
		return &NameError{name, fmt.Errorf("%w: %d bytes, at most %d may be", ErrLongName, len(name), MaxNameBytes)}
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &NameError{name, ErrUnsafeName}
	}
	return nil
}

// IsAnonymous reports whether the peer has shown no certificate.
func (p Principal) IsAnonymous() bool { return p.names == "" }

// Names returns the names, in order; anonymous if there is no certificate.
func (p Principal) Names() []string {
	if p.IsAnonymous() {
		return []string{AnonymousName}
	}
	return strings.Split(strings.TrimSuffix(p.names, separator), separator)
}

// String returns the names with commas between them.
func (p Principal) String() string { return strings.Join(p.Names(), ", ") }
