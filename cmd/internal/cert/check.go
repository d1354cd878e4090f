// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/identity"
	"tagbus/internal/stuck"
)

// Check is the command line of check.
type Check struct {
	tool.NoBus

	Files  []string      `arg:"" optional:"" name:"file" help:"Files of certificates, keys and lists. Default: all .pem, .key and .crl of the folder."`
	Dir    string        `default:"." placeholder:"DIR" help:"Folder that is looked at if no files are named. Default: the current one."`
	Within time.Duration `default:"720h" placeholder:"TIME" help:"What ends within this time ends soon. Default ${default}, which is 30 days."`
}

// Check reports what is wrong with the flags.
func (c *Check) Check() error {
	if c.Within < 0 {
		return fmt.Errorf("--within: got %v, want 0 or more", c.Within)
	}
	return nil
}

// verdict is what is said of an item.
type verdict struct {
	File  string     `json:"file"`
	What  string     `json:"what"`
	Ends  *time.Time `json:"ends,omitempty"`
	State string     `json:"state"`
	Good  bool       `json:"good"`
}

// Run checks the files.
func (c *Check) Run(_ context.Context, e *tool.Env) error {
	files := c.Files
	if len(files) == 0 {
		for _, ending := range []string{"*.pem", "*.key", "*.crl"} {
			found, err := stuck.Glob(filepath.Join(c.Dir, ending))
			if err != nil {
				return &cli.UsageError{Err: fmt.Errorf("--dir: %w", err)}
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			return &cli.UsageError{Err: errors.New("the folder has no .pem, .key and .crl: name files, or another folder with --dir")}
		}
	}
	verdicts := c.judge(files, time.Now())
	t := table.New(e.Out, e.JSON, table.Text("FILE").Key(), table.Text("WHAT"), table.Whole("ENDS"), table.Text("STATE").Key())
	bad := false
	for _, v := range verdicts {
		bad = bad || !v.Good
		ends := ""
		if v.Ends != nil {
			ends = stamp(*v.Ends)
		}
		if err := t.Row(v, v.File, v.What, ends, v.State); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if bad {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// judge returns what is to be said of files, in the order in which they end.
func (c *Check) judge(files []string, now time.Time) (all []verdict) {
	var items []item
	for _, path := range files {
		found, err := readItems(path)
		if err != nil {
			all = append(all, verdict{path, "", nil, err.Error(), false})
		}
		items = append(items, found...)
	}
	for _, i := range items {
		v := i.judge(now, c.Within)
		switch {
		case !v.Good:
		case i.certificate != nil:
			i.compare(items, &v)
		case i.list != nil:
			i.compareList(items, &v)
		}
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b verdict) int { return a.order().Compare(b.order()) })
	return all
}

// order returns where a verdict stands: what is wrong and has no end first, what is good and has
// none last.
func (v *verdict) order() time.Time {
	switch {
	case v.Ends != nil:
		return *v.Ends
	case v.Good:
		return time.Unix(1<<40, 0)
	}
	return time.Time{}
}

// judge returns what is to be said of an item alone.
func (i *item) judge(now time.Time, within time.Duration) verdict {
	v := verdict{File: i.path, State: "good", Good: true}
	bad := func(format string, args ...any) {
		v.Good, v.State = false, fmt.Sprintf(format, args...)
	}
	var begins time.Time
	switch {
	case i.key != nil:
		v.What = "private key"
		if err := i.checkMode(); err != nil {
			bad("%v", err)
		}
		return v
	case i.certificate != nil:
		v.What = "CA " + i.certificate.Subject.String()
		names, err := i.names()
		if err != nil {
			bad("no peer takes it: %v", err)
		}
		if !i.certificate.IsCA {
			v.What = strings.Join(names, ", ")
		}
		begins, v.Ends = i.certificate.NotBefore, new(i.certificate.NotAfter)
	default:
		v.What = "revoked by " + i.list.Issuer.String()
		if begins = i.list.ThisUpdate; i.list.NextUpdate.IsZero() {
			return v
		}
		v.Ends = new(i.list.NextUpdate)
	}
	switch left := v.Ends.Sub(now); {
	case now.Before(begins):
		bad("begins at %s: compare the clocks", stamp(begins))
	case left <= 0:
		bad("has ended")
	case left <= within:
		bad("ends in %s", days(left))
	case v.Good:
		v.State = "good for " + days(left)
	}
	return v
}

// days returns a time in days, or in hours if there are few.
func days(d time.Duration) string {
	if d < 2*day {
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%d days", d/day)
}

// compare adds what is wrong with a certificate beside the others: a CA that has not issued it, a
// key that does not fit, and a list that names it.
func (i *item) compare(others []item, v *verdict) {
	issuers, issued := 0, i.certificate.IsCA
	for _, o := range others {
		if o.certificate != nil && o.certificate.IsCA {
			issuers++
			issued = issued || i.certificate.CheckSignatureFrom(o.certificate) == nil
		}
	}
	if issuers > 0 && !issued {
		v.Good, v.State = false, "issued by none of the CAs that are looked at"
	}
	for _, o := range others {
		switch {
		case o.key != nil && strings.TrimSuffix(o.path, filepath.Ext(o.path)) == strings.TrimSuffix(i.path, filepath.Ext(i.path)):
			if !i.certificate.IsCA || o.path == filepath.Join(filepath.Dir(i.path), keyName) {
				if !fits(i.certificate, o.key) {
					v.Good, v.State = false, fmt.Sprintf("%v than the one in %s", identity.ErrOtherKey, o.path)
				}
			}
		case o.list == nil || !isNamed(i.certificate, o.list):
		case isSigned(i.certificate, o.list, others):
			v.Good, v.State = false, "revoked"
		case !issued && bytes.Equal(o.list.RawIssuer, i.certificate.RawIssuer):
			v.Good, v.State = false, fmt.Sprintf("revoked by %s, if that is of its CA: name the certificate of that, too", o.path)
		}
	}
}

// compareList adds why no program takes a list beside the CAs that are looked at.
func (i *item) compareList(others []item, v *verdict) {
	var known []*x509.Certificate
	for _, o := range others {
		if o.certificate != nil && o.certificate.IsCA {
			known = append(known, o.certificate)
		}
	}
	if wrong := (*identity.FileError)(nil); errors.As(identity.CheckList(i.path, i.list, known), &wrong) {
		v.Good, v.State = false, fmt.Sprintf("no program takes it: %v: %s", wrong.Err, wrong.Do)
	}
}

// isNamed reports whether a list names a certificate.
func isNamed(c *x509.Certificate, list *x509.RevocationList) bool {
	return slices.ContainsFunc(list.RevokedCertificateEntries, func(r x509.RevocationListEntry) bool {
		return r.SerialNumber.Cmp(c.SerialNumber) == 0
	})
}

// isSigned reports whether a list is signed by the CA of a certificate, which is one of the items.
func isSigned(c *x509.Certificate, list *x509.RevocationList, items []item) bool {
	return slices.ContainsFunc(items, func(ca item) bool {
		return ca.certificate != nil && c.CheckSignatureFrom(ca.certificate) == nil && list.CheckSignatureFrom(ca.certificate) == nil
	})
}
