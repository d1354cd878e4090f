// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"tagbus/identity"
)

func uris(t *testing.T, texts ...string) (all []*url.URL) {
	for _, text := range texts {
		u, err := url.Parse(text)
		must(t, err)
		all = append(all, u)
	}
	return all
}

func TestPrincipalOf_aCertificate(t *testing.T) {
	many := make([]string, identity.MaxNames+1)
	for i := range many {
		many[i] = fmt.Sprintf("host%d", i)
	}
	long := strings.Repeat("x", identity.MaxNameBytes-len("cn:"))
	longs := make([]string, 5)
	for i := range longs {
		longs[i] = fmt.Sprint(i) + strings.Repeat("x", 1000)
	}
	tests := []struct {
		name    string
		c       x509.Certificate
		want    string
		wantErr error
	}{
		{"a URI before all others", x509.Certificate{URIs: uris(t, "spiffe://cern.ch/daq/felix-07"), DNSNames: []string{"a"}, Subject: pkix.Name{CommonName: "b"}}, "uri:spiffe://cern.ch/daq/felix-07", nil},
		{"a DNS name before the common name", x509.Certificate{DNSNames: []string{"b.CERN.ch", "a"}, Subject: pkix.Name{CommonName: "b"}}, "dns:a, dns:b.cern.ch", nil},
		{"a common name", x509.Certificate{Subject: pkix.Name{CommonName: "Shift Leader"}}, "cn:Shift Leader", nil},
		{"the same name twice", x509.Certificate{DNSNames: []string{"a", "A"}}, "dns:a", nil},
		{"names of other kinds only", x509.Certificate{EmailAddresses: []string{"a@b"}}, "", identity.ErrNoName},
		{"an empty DNS name", x509.Certificate{DNSNames: []string{""}}, "", identity.ErrUnknownKind},
		{"as many as may be", x509.Certificate{DNSNames: many[1:]}, "", nil},
		{"one too many", x509.Certificate{DNSNames: many}, "", identity.ErrTooManyNames},
		{"as long as may be", x509.Certificate{Subject: pkix.Name{CommonName: long}}, "cn:" + long, nil},
		{"too long", x509.Certificate{Subject: pkix.Name{CommonName: long + "x"}}, "", identity.ErrLongName},
		{"too long together", x509.Certificate{DNSNames: longs}, "", identity.ErrTooManyNames},
		{"a line end", x509.Certificate{Subject: pkix.Name{CommonName: "a\ncn:root"}}, "", identity.ErrUnsafeName},
		{"the end of a C string", x509.Certificate{DNSNames: []string{"a\x00b"}}, "", identity.ErrUnsafeName},
		{"text from right to left", x509.Certificate{Subject: pkix.Name{CommonName: "a\u202eb"}}, "", identity.ErrUnsafeName},
		{"no UTF-8", x509.Certificate{Subject: pkix.Name{CommonName: "a\xff"}}, "", identity.ErrUnsafeName},
		{"the word for a peer without one", x509.Certificate{Subject: pkix.Name{CommonName: "anonymous"}}, "cn:anonymous", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := identity.PrincipalOf(&test.c)
			var name *identity.NameError
			if !errors.Is(err, test.wantErr) || err != nil && !errors.As(err, &name) {
				t.Fatalf("got %v, want a NameError with %v", err, test.wantErr)
			}
			if err == nil && (got.IsAnonymous() || test.want != "" && got.String() != test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if err != nil && (got != identity.Principal{} || strings.ContainsAny(err.Error(), "\n\x00\u202e") || !utf8.ValidString(err.Error()) || len(err.Error()) > 300) {
				t.Errorf("got %v and the error %q, want no names and a line that is safe", got, err)
			}
		})
	}
}

func TestNewPrincipal_ofNames(t *testing.T) {
	for _, names := range [][]string{nil, {"anonymous"}} {
		if got, err := identity.NewPrincipal(names...); err != nil || !got.IsAnonymous() || got.String() != "anonymous" {
			t.Errorf("%q: got %v, %v, want anonymous", names, got, err)
		}
	}
	a, err := identity.NewPrincipal("uri:b", "uri:a")
	must(t, err)
	b, err := identity.NewPrincipal("uri:a", "uri:b", "uri:a")
	must(t, err)
	if a != b || a.String() != "uri:a, uri:b" {
		t.Errorf("got %v and %v, want that they are equal", a, b)
	}
	for _, names := range [][]string{{"felix"}, {""}, {"uri:"}, {"anonymous", "uri:a"}, {"uri:a", "dns:a"}, {"URI:a"}} {
		if got, err := identity.NewPrincipal(names...); !errors.Is(err, identity.ErrUnknownKind) {
			t.Errorf("%q: got %v, %v, want ErrUnknownKind", names, got, err)
		}
	}
	if _, err := identity.NewPrincipal(make([]string, identity.MaxNames+1)...); !errors.Is(err, identity.ErrTooManyNames) {
		t.Errorf("got %v, want ErrTooManyNames", err)
	}
}
