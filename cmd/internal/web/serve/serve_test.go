// SPDX-License-Identifier: Apache-2.0

//go:build linux

package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/web/serve"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is what a command writes, while it writes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// run runs the command until the test ends; it returns its address and what it said.
func run(t *testing.T, listen string) (url string, said *lines) {
	t.Helper()
	var c serve.Command
	testkit.Must(t, c.Listen.UnmarshalText([]byte(listen)))
	said = &lines{more: make(chan struct{}, 1)}
	e := &tool.Env{Flags: &tool.Flags{Bus: t.TempDir(), Timeout: time.Second}, Streams: cli.Streams{Out: io.Discard, Err: said}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, e) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, e.Close()); err != nil {
			t.Error(err)
		}
	})
	for {
		if found := regexp.MustCompile(`the page is at (http://\S+/)\n`).FindStringSubmatch(said.String()); found != nil {
			return found[1], said
		}
		select {
		case <-said.more:
		case err := <-ended:
			t.Fatal(err)
		}
	}
}

func TestThePageIsServed(t *testing.T) {
	url, said := run(t, "127.0.0.1:0")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	testkit.Must(t, err)
	response, err := client.Do(request)
	testkit.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "<title>tagbus</title>") {
		t.Errorf("got status %d, error %v and %.100q", response.StatusCode, err, body)
	}
	if strings.Contains(said.String(), "warning") {
		t.Errorf("got %q, want no warning on loopback", said)
	}
}

func TestAnAddressOfTheNetworkIsWarnedOf(t *testing.T) {
	url, said := run(t, "0.0.0.0:0")
	_, port, err := net.SplitHostPort(strings.Trim(strings.TrimPrefix(url, "http://"), "/"))
	testkit.Must(t, err)
	want := "warning: other hosts can reach [::]:" + port + ", and whoever does sees the bus: --listen 127.0.0.1:" + port + " shows it to this host only\n"
	for !strings.Contains(said.String(), "warning") {
		<-said.more
	}
	if got := said.String(); !strings.HasSuffix(got, want) && !strings.HasSuffix(got, strings.Replace(want, "[::]", "0.0.0.0", 1)) {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}

func TestAnAddressThatIsTaken(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer taken.Close()
	var c serve.Command
	testkit.Must(t, c.Listen.UnmarshalText([]byte(taken.Addr().String())))
	e := &tool.Env{Flags: &tool.Flags{Bus: t.TempDir(), Timeout: time.Second}, Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
	defer e.Close()
	want := "--listen " + taken.Addr().String() + ": address already in use: another program listens there: stop it, or give another port, or 0 for any that is free"
	if err := c.Run(t.Context(), e); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
