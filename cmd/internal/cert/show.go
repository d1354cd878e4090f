// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// Show is the command line of show.
type Show struct {
	tool.NoBus

	Files []string `arg:"" name:"file" help:"Files of certificates, keys or lists."`
}

// shown is an item in JSON. What an item does not have is left out.
type shown struct {
	File    string     `json:"file"`
	Kind    string     `json:"kind"` // certificate, key or list
	Names   []string   `json:"names,omitempty"`
	Subject string     `json:"subject,omitempty"`
	Issuer  string     `json:"issuer,omitempty"`
	Serial  string     `json:"serial,omitempty"`
	Begins  *time.Time `json:"begins,omitempty"`
	Ends    *time.Time `json:"ends,omitempty"`
	For     []string   `json:"for,omitempty"`
	SHA256  string     `json:"sha256,omitempty"`
	Key     string     `json:"key,omitempty"`
	Mode    string     `json:"mode,omitempty"`
	Number  string     `json:"number,omitempty"`
	Revoked []string   `json:"revoked,omitempty"`
	Wrong   string     `json:"wrong,omitempty"`
}

// Run shows the files.
func (c *Show) Run(_ context.Context, e *tool.Env) error {
	failed := false
	for n, path := range c.Files {
		items, err := readItems(path)
		if err != nil {
			failed = true
			fmt.Fprintln(e.Err, sanitize.Error(err))
			continue
		}
		for m, i := range items {
			if !e.JSON && n+m > 0 {
				fmt.Fprintln(e.Out)
			}
			s := i.show()
			if e.JSON {
				err = cli.PrintJSON(e.Out, s)
			} else {
				err = s.write(e.Out)
			}
			if err != nil {
				return err
			}
		}
	}
	if failed {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// show returns what is known of an item.
func (i *item) show() shown {
	s := shown{File: i.path}
	begins, ends := time.Time{}, time.Time{}
	switch {
	case i.certificate != nil:
		c := i.certificate
		names, err := i.names()
		if s.Names = names; err != nil {
			s.Wrong = "no peer takes it: " + sanitize.Error(err)
		}
		s.Kind, s.Subject, s.Issuer, s.Serial = "certificate", c.Subject.String(), c.Issuer.String(), c.SerialNumber.Text(16)
		s.For, s.SHA256 = i.usages(), fmt.Sprintf("%x", sha256.Sum256(c.Raw))
		begins, ends = c.NotBefore.UTC(), c.NotAfter.UTC()
	case i.key != nil:
		s.Kind, s.Key, s.Mode = "key", i.keyKind(), fmt.Sprintf("%04o", i.mode.Perm())
		if err := i.checkMode(); err != nil {
			s.Wrong = err.Error()
		}
		return s
	default:
		s.Kind, s.Issuer = "list", i.list.Issuer.String()
		if i.list.Number != nil {
			s.Number = i.list.Number.String()
		}
		begins, ends = i.list.ThisUpdate.UTC(), i.list.NextUpdate.UTC()
		for _, r := range i.list.RevokedCertificateEntries {
			s.Revoked = append(s.Revoked, r.SerialNumber.Text(16))
		}
	}
	s.Begins = &begins
	if !ends.IsZero() {
		s.Ends = &ends
	}
	return s
}

// write writes an item as lines.
func (s *shown) write(to io.Writer) error {
	var b strings.Builder
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s%s\n", what, sanitize.Line(sanitize.Cut(text, 4096)))
		}
	}
	b.WriteString(sanitize.Text(s.File) + ": " + map[string]string{
		"certificate": "certificate", "key": "private key, " + s.Key, "list": "list of revoked certificates",
	}[s.Kind] + "\n")
	line("names", strings.Join(s.Names, ", "))
	line("subject", s.Subject)
	line("issuer", s.Issuer)
	line("serial", s.Serial)
	line("number", s.Number)
	if s.Begins != nil {
		line("begins", stamp(*s.Begins))
	}
	if s.Ends != nil {
		line("ends", stamp(*s.Ends))
	}
	line("for", strings.Join(s.For, ", "))
	line("mode", s.Mode)
	line("SHA-256", s.SHA256)
	if s.Kind == "list" {
		line("revoked", units.FormatNumber(len(s.Revoked), "certificate"))
		for _, serial := range s.Revoked {
			line("", serial)
		}
	}
	line("wrong", s.Wrong)
	_, err := io.WriteString(to, b.String())
	return err
}
