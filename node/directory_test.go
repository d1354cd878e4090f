// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/node"
	"tagbus/tags"
)

func TestNodeUsesAnyDirectory(t *testing.T) {
	dir := memory.New()
	n, err := node.Open(node.Config{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := dir.List()
	if err != nil || len(entries) != 1 || entries[0].Instance != p.Instance() {
		t.Errorf("got %v, %v, want the publisher", entries, err)
	}
	if n.Directory() != directory.Directory(dir) {
		t.Errorf("got %v, want the given directory", n.Directory())
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := dir.List(); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v after Close of the node, want an open directory without entries", entries, err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNodeOpensWhatAURLNames(t *testing.T) {
	dir := memory.New()
	var got string
	directory.Register("test-node", func(url string, _ directory.Settings) (directory.Opened, error) {
		got = url
		return dir, nil
	})
	n, err := node.Open(node.Config{Bus: "test-node://a,b/c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if got != "test-node://a,b/c" {
		t.Errorf("got URL %q, want the one of the configuration", got)
	}
	if _, err := dir.List(); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v after Close of the node, want ErrClosed: the node has opened it", err)
	}
}

func TestNodeTakesAFolderByURL(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a bus")
	n, err := node.Open(node.Config{Bus: "file://" + filepath.Dir(folder) + "/a%20bus"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)}); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("got %v, %v, want a file for the publisher", files, err)
	}
}

func TestNodeRefusesUnknownDirectories(t *testing.T) {
	tests := []struct {
		bus  string
		want error
	}{
		{"etcd://a/b", directory.ErrUnknownScheme},
		{"file://pc-07/bus", directory.ErrInvalidURL},
	}
	for _, test := range tests {
		if _, err := node.Open(node.Config{Bus: test.bus}); !errors.Is(err, test.want) {
			t.Errorf("got %v for %q, want %v", err, test.bus, test.want)
		}
	}
}
