// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/node"
	"tagbus/tags"
)

// closing is a directory that counts how often it is closed.
type closing struct {
	*memory.Directory
	closed int
}

func (c *closing) Close() error {
	c.closed++
	return c.Directory.Close()
}

// kinds counts the kinds of directories that tests have registered, each once per process.
var kinds atomic.Int32

func TestOpen_aDirectoryOfAnyKindServesANode(t *testing.T) {
	own := &closing{Directory: memory.New()}
	scheme := fmt.Sprintf("test-node-%d", kinds.Add(1))
	directory.Register(scheme, func(url string, s directory.Settings) (directory.Opened, error) {
		if s.Expiry != 0 && s.Expiry < time.Second {
			return nil, errors.New("Expiry is too short")
		}
		if url != scheme+"://a,b/x" || s.Expiry != time.Minute {
			t.Errorf("got %s and %v, want what the configuration has", url, s)
		}
		return own, nil
	})
	given := &closing{Directory: memory.New()}
	folder := filepath.Join(t.TempDir(), "my bus")
	tests := []struct {
		name   string
		config node.Config
		closed *closing // by the node
	}{
		{"by its URL", node.Config{Bus: scheme + "://a,b/x", Expiry: time.Minute}, own},
		{"as it is", node.Config{Directory: given}, nil},
		{"a folder by its URL", node.Config{Bus: "file://" + filepath.Dir(folder) + "/my%20bus"}, nil},
	}
	for _, test := range tests {
		n, err := node.Open(test.config)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if entries, err := n.Directory().List(); err != nil || len(entries) != 1 || entries[0].Instance != p.Instance() {
			t.Errorf("%s: got %v and error %v, want the publisher", test.name, entries, err)
		}
		if err := n.Close(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.closed != nil && test.closed.closed != 1 {
			t.Errorf("%s: it was closed %d times, want once", test.name, test.closed.closed)
		}
	}
	if given.closed != 0 {
		t.Errorf("a directory that was given is closed %d times, want that its owner does it", given.closed)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("got error %v, want the folder of the URL", err)
	}
	for url, want := range map[string]error{
		"nats://a/x": directory.ErrUnknownScheme, "file://elsewhere/x": directory.ErrInvalidURL, scheme + "://": bus.ErrInvalidConfig,
	} {
		if _, err := node.Open(node.Config{Bus: url, Expiry: time.Millisecond}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", url, err, want)
		}
	}
}
