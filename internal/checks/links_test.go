// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestLinksLeadSomewhere holds the links of all documents to files and headings that exist,
// and the documents that any other text names. make docs, which builds the site, knows
// pages only.
func TestLinksLeadSomewhere(t *testing.T) {
	inRoot(t)
	mistakes, found, err := checkLinks(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range mistakes {
		t.Error(mistake)
	}
	if found < 200 {
		t.Errorf("got %d links, want those of the documents at least", found)
	}
}

var (
	// link is one of Markdown, with its target.
	link = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	// named is a document that a text names, with a heading if it has one.
	named = regexp.MustCompile(`\bdocs/(?:adr/)?[\w-]+\.md(?:#[\w-]*\w)?`)
	// readable are the kinds of files whose text names documents.
	readable = []string{".go", ".md", ".sh", ".yml", ".yaml", ".service", ".env", ".json", ".mjs", ".conf"}
)

// checkLinks returns what leads nowhere in the files of a module, and how many links there are.
func checkLinks(module fs.FS) (mistakes []string, found int, err error) {
	headings := make(map[string][]string) // of each document that a link leads to
	exists := func(target string) bool {
		file, anchor, _ := strings.Cut(target, "#")
		text, err := fs.ReadFile(module, file)
		if err != nil || anchor == "" {
			return err == nil
		}
		if headings[file] == nil {
			headings[file] = anchors(string(text))
		}
		return slices.Contains(headings[file], anchor)
	}
	err = fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(notOurs, name), entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(name, ".") && name != "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir(), !slices.Contains(readable, path.Ext(name)), strings.HasSuffix(name, "links_test.go"):
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		var targets []string
		if path.Ext(name) == ".md" {
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				switch {
				case strings.Contains(m[1], "://"):
				case strings.HasPrefix(m[1], "#"):
					targets = append(targets, name+m[1])
				default:
					targets = append(targets, path.Join(path.Dir(name), m[1]))
				}
			}
		}
		if !slices.Contains(history, name) && !slices.Contains(history, path.Dir(name)) {
			targets = append(targets, named.FindAllString(link.ReplaceAllString(string(text), ""), -1)...)
		}
		for _, target := range targets {
			found++
			if !exists(target) {
				mistakes = append(mistakes, fmt.Sprintf("%s: a link to %s, which does not exist", name, target))
			}
		}
		return nil
	})
	return mistakes, found, err
}

// noAnchor is what an anchor leaves out of its heading.
var noAnchor = regexp.MustCompile(`[^\p{L}\p{N}\s_-]`)

// anchors returns what links to the headings of a document end in, as GitHub and the site
// (tools/docs) make it.
func anchors(text string) (all []string) {
	inside := false
	for line := range strings.Lines(text) {
		if fence.MatchString(line) {
			inside = !inside
		}
		heading := strings.TrimLeft(line, "#")
		if inside || heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		anchor := noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		all = append(all, strings.ReplaceAll(anchor, " ", "-"))
	}
	return all
}

func TestCheckLinks(t *testing.T) {
	module := fstest.MapFS{
		"README.md":       {Data: []byte("# One\n\n[a](docs/a.md), [b](docs/b.md), [two](docs/a.md#two-or-three), [none](docs/a.md#none), [own](#one), [web](https://x/y)\n")},
		"docs/a.md":       {Data: []byte("# A\n\n```sh\n# Code\n```\n\n## Two, or `three`?\n\n[code](#code) [up](../README.md#one) docs/c.md\n")},
		"a.go":            {Data: []byte("// See docs/a.md. And docs/b.md#x.\npackage a\n")},
		"rules.yml":       {Data: []byte("runbook: docs/a.md#two-or-three\nrunbook: docs/a.md#four\n")},
		"CHANGELOG.md":    {Data: []byte("docs/gone.md [gone](docs/gone.md)\n")},
		"dist/README.md":  {Data: []byte("docs/gone.md\n")},
		"testdata/old.md": {Data: []byte("docs/gone.md\n")},
	}
	got, found, err := checkLinks(module)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"CHANGELOG.md: a link to docs/gone.md, which does not exist",
		"README.md: a link to docs/b.md, which does not exist",
		"README.md: a link to docs/a.md#none, which does not exist",
		"a.go: a link to docs/b.md#x, which does not exist",
		"docs/a.md: a link to docs/a.md#code, which does not exist",
		"docs/a.md: a link to docs/c.md, which does not exist",
		"rules.yml: a link to docs/a.md#four, which does not exist",
	}
	if diff := cmp.Diff(want, got); diff != "" || found != 13 {
		t.Errorf("got %d links, want 13; mistakes (-want +got):\n%s", found, diff)
	}
}
