// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/state"
)

// pipes is a listener whose connections are pipes, with the time of the test.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve runs a server as the commands do, whose own timeouts are shorter than a feed lasts.
// It returns what dials it.
func serve(t *testing.T, source Source) (dial func() net.Conn, api *API) {
	t.Helper()
	p := &pipes{make(chan net.Conn), make(chan struct{})}
	api = New(source)
	mux := http.NewServeMux()
	api.Register(mux)
	server := &http.Server{
		Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server.RegisterOnShutdown(api.Close)
	ended := make(chan error)
	go func() { ended <- server.Serve(p) }()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		synctest.Wait()
	})
	return func() net.Conn {
		ours, theirs := net.Pipe()
		p.conns <- theirs
		return ours
	}, api
}

// watch asks for events and returns the answer.
func watch(t *testing.T, conn net.Conn, target string) *http.Response {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// events reads lines until there are n events, and returns those.
func events(t *testing.T, body *bufio.Reader, n int) (all []string) {
	t.Helper()
	event := ""
	for len(all) < n {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		if line != "\n" {
			event += line
			continue
		}
		if strings.HasPrefix(event, "event: ") {
			all = append(all, event)
		}
		event = ""
	}
	return all
}

// counting returns a source that counts its calls, and says the count.
func counting(calls *atomic.Int64) Source {
	return func(ctx context.Context, q state.Question) (state.Process, error) {
		p, err := one(ctx, q)
		p.PID = int(calls.Add(1))
		return p, err
	}
}

// TestEventsComeEachSecond reads longer than the timeouts of the server.
func TestEventsComeEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		dial, _ := serve(t, counting(&calls))
		time.Sleep(time.Minute)
		if n := calls.Load(); n != 0 {
			t.Errorf("the source was asked %d times without a viewer, want 0", n)
		}
		conn := dial()
		start := time.Now()
		response := watch(t, conn, "/api/v1/events?peers=3")
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
			t.Errorf("got status %d and type %q", response.StatusCode, got)
		}
		all := events(t, bufio.NewReader(response.Body), 31)
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("31 events took %v, want 30s", took)
		}
		for i, event := range all {
			want := fmt.Sprintf(`event: state`+"\n"+`data: {"state_version":1,"time":"2026-11-23T19:01:00Z","command":"publisher","pid":%d,`, i+1)
			if !strings.HasPrefix(event, want) || !strings.Contains(event, `"connected_peers":3`) {
				t.Fatalf("event %d: got %.150q, want it to begin with %q", i, event, want)
			}
		}
		conn.Close()
		time.Sleep(time.Minute)
		if n := calls.Load(); n > 32 {
			t.Errorf("the source was asked %d times, want it to stop after 31 events and the one that finds the viewer gone", n)
		}
	})
}

// TestViewersOfOneQuestionShareItsAnswers has three viewers of one question, in two forms,
// and one of another.
func TestViewersOfOneQuestionShareItsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		dial, _ := serve(t, counting(&calls))
		for _, query := range []string{"?peers=1&tags=5-6", "?tags=6,5&peers=1", "?peers=1&tags=5,6", "?peers=2"} {
			conn := dial()
			defer conn.Close()
			body := bufio.NewReader(watch(t, conn, "/api/v1/events"+query).Body)
			go func() { _, _ = io.Copy(io.Discard, body) }()
		}
		synctest.Wait()
		if n := calls.Load(); n != 2 {
			t.Errorf("the source was asked %d times for two questions, want 2", n)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		if n := calls.Load(); n != 22 {
			t.Errorf("the source was asked %d times for two questions in 10 s, want 22", n)
		}
	})
}

// TestASlowViewerHoldsUpNoOther has a viewer that reads nothing: it is closed, and the
// other one misses nothing.
func TestASlowViewerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		dial, _ := serve(t, counting(&calls))
		slow := dial()
		if _, err := io.WriteString(slow, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		good := dial()
		defer good.Close()
		body := bufio.NewReader(watch(t, good, "/api/v1/events").Body)
		if events(t, body, 21); time.Since(start) != 20*time.Second {
			t.Errorf("21 events took %v, want 20s", time.Since(start))
		}
		if n := calls.Load(); n != 21 {
			t.Errorf("the source was asked %d times, want 21", n)
		}
		if rest, err := io.ReadAll(slow); err != nil || strings.Contains(string(rest), "event:") {
			t.Errorf("the viewer that read nothing: got %d bytes and error %v, want it closed before the first event", len(rest), err)
		}
	})
}

// TestAViewerThatFallsBehindMissesEvents reads one event every three seconds: it sees the
// newest one each time, and stays.
func TestAViewerThatFallsBehindMissesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		dial, _ := serve(t, counting(&calls))
		conn := dial()
		defer conn.Close()
		body := bufio.NewReader(watch(t, conn, "/api/v1/events").Body)
		last := 0
		for range 10 {
			time.Sleep(3 * time.Second)
			var number int
			text := events(t, body, 1)[0]
			if _, err := fmt.Sscanf(text[strings.Index(text, `"pid":`):], `"pid":%d`, &number); err != nil {
				t.Fatal(err)
			}
			if now := int(calls.Load()); number <= last || now-number > 4 {
				t.Errorf("got event %d after %d, with %d made, want one of the last", number, last, now)
			}
			last = number
		}
		if last < 20 {
			t.Errorf("got event %d after 30 s, want one of the last", last)
		}
	})
}

// TestViewersAreBounded has as many viewers as there may be, and one more.
func TestViewersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, _ := serve(t, one)
		conns := make([]net.Conn, MaxViewers)
		for i := range conns {
			conns[i] = dial()
			defer conns[i].Close()
			body := watch(t, conns[i], fmt.Sprintf("/api/v1/events?peers=%d", i)).Body
			go func() { _, _ = io.Copy(io.Discard, body) }()
		}
		more := dial()
		defer more.Close()
		response := watch(t, more, "/api/v1/events")
		text, err := io.ReadAll(response.Body)
		if want := "16 viewers look already: close one, or ask for /api/v1/state now and then\n"; err != nil || response.StatusCode != http.StatusServiceUnavailable || string(text) != want {
			t.Errorf("got status %d, %q and error %v, want 503 and %q", response.StatusCode, text, err, want)
		}
		conns[3].Close()
		synctest.Wait()
		if response := watch(t, more, "/api/v1/events"); response.StatusCode != http.StatusOK {
			t.Errorf("after one has gone: got status %d, want 200", response.StatusCode)
		}
	})
}

// TestProblemsAreEvents has a source that fails, one that takes too long, and one that says
// too much.
func TestProblemsAreEvents(t *testing.T) {
	tests := []struct {
		name   string
		source Source
		want   string
	}{
		{"it fails", func(context.Context, state.Question) (state.Process, error) {
			return state.Process{}, errors.New("bus: closed\nfor good")
		}, "the state is not known: bus: closed; for good"},
		{"it takes too long", func(ctx context.Context, _ state.Question) (state.Process, error) {
			<-ctx.Done()
			return state.Process{}, ctx.Err()
		}, "the state is not known: context deadline exceeded"},
		{"it says too much", func(context.Context, state.Question) (state.Process, error) {
			return state.Process{Command: strings.Repeat("x", MaxEventBytes)}, nil
		}, "the state has 200156 bytes, and an event at most 200000: ask for fewer peers or tags"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, _ := serve(t, test.source)
				conn := dial()
				defer conn.Close()
				body := bufio.NewReader(watch(t, conn, "/api/v1/events").Body)
				want := "event: problem\ndata: " + test.want + "\n"
				if got := events(t, body, 2); got[0] != want || got[1] != want {
					t.Errorf("got %q, want %q twice", got, want)
				}
			})
		})
	}
}

// TestCloseEndsTheEvents closes the API under a viewer, and asks again.
func TestCloseEndsTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, api := serve(t, one)
		conn := dial()
		defer conn.Close()
		response := watch(t, conn, "/api/v1/events")
		body := bufio.NewReader(response.Body)
		events(t, body, 1)
		start := time.Now()
		api.Close()
		api.Close()
		if _, err := io.ReadAll(body); err != nil || time.Since(start) > interval {
			t.Errorf("the events ended after %v with %v, want an end at once", time.Since(start), err)
		}
		again := dial()
		defer again.Close()
		late := watch(t, again, "/api/v1/events")
		if text, err := io.ReadAll(late.Body); late.StatusCode != http.StatusServiceUnavailable || string(text) != "the program ends\n" || err != nil {
			t.Errorf("later: got status %d, %q and error %v, want 503", late.StatusCode, text, err)
		}
	})
}
