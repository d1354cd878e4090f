// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/state"
	"tagbus/tags"
)

var began = time.Date(2026, 11, 23, 19, 0, 0, 0, time.UTC)

// one returns a process with one instance, which tells the question in its figures.
func one(_ context.Context, q state.Question) (state.Process, error) {
	return state.Process{
		Version: state.Version, Time: began.Add(time.Minute), Command: "publisher", PID: 7, Since: began, Uptime: 60,
		Instances: []state.State{{Version: state.Version, Role: state.Publisher, Name: "a<b", Connected: q.Peers, KnownTags: q.Busiest, Tags: q.Tags.String()}},
	}, nil
}

// handler returns the API of a source behind the name of a host.
func handler(t *testing.T, source Source) http.Handler {
	t.Helper()
	api := New(source)
	t.Cleanup(api.Close)
	mux := http.NewServeMux()
	api.Register(mux)
	return mux
}

// ask returns the answer to a request.
func ask(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:9100"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestStateIsJSON(t *testing.T) {
	w := ask(handler(t, one), http.MethodGet, "/api/v1/state?peers=3&busiest=9&tags=5,7-8")
	const want = `{"state_version":1,"time":"2026-11-23T19:01:00Z","command":"publisher","pid":7,"program":"","go":"","since":"2026-11-23T19:00:00Z","uptime_seconds":60,"instances":[{"state_version":1,"time":"0001-01-01T00:00:00Z","role":"publisher","instance":"","name":"a<b","pid":0,"since":"0001-01-01T00:00:00Z","program":"","go":"","backend":"","tags":"0x0000000000000005,0x0000000000000007-0x0000000000000008","tag_parts":0,"max_message_bytes":0,"messages":0,"payload_bytes":0,"left_out_messages":0,"silent_peers":0,"broken_connections":0,"entry_failing":false,"connected_peers":3,"stalled_peers":0,"fullest_queue":0,"known_tags":9,"entry_crowded":false,"access_failing":false}]}` + "\n"
	if diff := cmp.Diff(want, w.Body.String()); w.Code != http.StatusOK || diff != "" {
		t.Errorf("got status %d; the answer differs (-want +got):\n%s", w.Code, diff)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	none := ask(handler(t, func(context.Context, state.Question) (state.Process, error) { return state.Process{}, nil }), http.MethodGet, "/api/v1/state")
	var process map[string]json.RawMessage
	if err := json.Unmarshal(none.Body.Bytes(), &process); err != nil || string(process["instances"]) != "[]" {
		t.Errorf("no instances: got %s and error %v, want an empty list", none.Body, err)
	}
	if schema := ask(handler(t, one), http.MethodGet, "/api/v1/schema"); schema.Body.String() != state.Schema {
		t.Errorf("schema: got %.80s, want that of package state", schema.Body)
	}
}

// TestWrongRequestsAreRefused compares what a wrong request is answered with.
func TestWrongRequestsAreRefused(t *testing.T) {
	broken := func(context.Context, state.Question) (state.Process, error) {
		return state.Process{}, errors.New("bus: closed")
	}
	tests := []struct {
		name, method, target string
		source               Source
		headers              []string
		status               int
		want                 string
	}{
		{"a number of peers that is none", "GET", "/api/v1/state?peers=many", one, nil, 400, `parameter peers: got "many": want a number from 0 to 4096`},
		{"too many peers", "GET", "/api/v1/state?peers=4097", one, nil, 400, `parameter peers: got "4097": want a number from 0 to 4096`},
		{"a negative number of tags", "GET", "/api/v1/events?busiest=-1", one, nil, 400, `parameter busiest: got "-1": want a number from 0 to 1024`},
		{"tags that are none", "GET", "/api/v1/state?tags=x", one, nil, 400, `parameter tags: got "x": want tags, ranges FIRST-LAST and patterns with commas between them: tags: parse "x" at byte 0: invalid syntax: want a decimal or 0x number`},
		{"an unknown parameter", "GET", "/api/v1/state?peer=1", one, nil, 400, `parameter peer: got "1": there is no such parameter: want peers, busiest, lost_tags or tags`},
		{"a parameter twice", "GET", "/api/v1/state?peers=1&peers=2", one, nil, 400, `parameter peers: got "2": it is given twice`},
		{"a long wrong value", "GET", "/api/v1/state?peers=" + strings.Repeat("9", 200), one, nil, 400, `parameter peers: got "` + strings.Repeat("9", 97) + `...": want a number from 0 to 4096`},
		{"no query", "GET", "/api/v1/state?a;b", one, nil, 400, `parameter query: got "a;b": it is no query: invalid semicolon separator in query`},
		{"a source that fails", "GET", "/api/v1/state", broken, nil, 503, `the state is not known: bus: closed`},
		{"a write", "POST", "/api/v1/state", one, nil, 405, "Method Not Allowed"},
		{"a write to the events", "DELETE", "/api/v1/events", one, nil, 405, "Method Not Allowed"},
		{"a page of another site", "GET", "/api/v1/state", one, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "empty"}, 403, "the request comes from a page of another site"},
		{"a frame in a page of another port", "GET", "/api/v1/events", one, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Dest", "iframe"}, 403, "the request comes from a page of another site"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := ask(handler(t, test.source), test.method, test.target, test.headers...)
			if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != test.want {
				t.Errorf("got status %d and\n%s\nwant %d and\n%s", w.Code, got, test.status, test.want)
			}
		})
	}
}

func TestRequestsOfOurselvesPass(t *testing.T) {
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-Site", "none"},
		{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"},
	} {
		if w := ask(handler(t, one), http.MethodGet, "/api/v1/state", headers...); w.Code != http.StatusOK {
			t.Errorf("%v: got status %d, want 200: %s", headers, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/api/v1/state", "/api/v1/events"} {
		server := httptest.NewServer(handler(t, one))
		response, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusOK || len(body) > 0 || err != nil {
			t.Errorf("HEAD %s: got status %d, %d bytes and error %v, want 200 and no body", path, response.StatusCode, len(body), err)
		}
		response.Body.Close()
		server.Close()
	}
}

// TestAnswersAtOnceAreBounded holds four answers back, and asks once more.
func TestAnswersAtOnceAreBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	h := handler(t, func(ctx context.Context, q state.Question) (state.Process, error) {
		entered <- struct{}{}
		<-release
		return one(ctx, q)
	})
	done := make(chan int)
	for range maxAnswers {
		go func() { done <- ask(h, http.MethodGet, "/api/v1/state").Code }()
		<-entered
	}
	w := ask(h, http.MethodGet, "/api/v1/state")
	if want := "4 answers are being made: ask again in a second\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want || w.Header().Get("Retry-After") != "1" {
		t.Errorf("got status %d, Retry-After %q and %q, want 503, 1 and %q", w.Code, w.Header().Get("Retry-After"), w.Body, want)
	}
	close(release)
	for range maxAnswers {
		if code := <-done; code != http.StatusOK {
			t.Errorf("got status %d of those before, want 200", code)
		}
	}
}

// TestGuard lists what a request may address.
func TestGuard(t *testing.T) {
	reached := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	const resolver = "nameserver 127.0.0.53\n# search dyndns.example\nsearch cern.ch example.org. .\ndomain\n"
	tests := []struct {
		host, hostname string
		passes         bool
	}{
		{"daq7.cern.ch:9100", "daq7", true}, // as Prometheus asks it, by a domain of the resolver
		{"DAQ7.example.org.:9100", "daq7.local", true},
		{"daq7.dyndns.example", "daq7", false}, // a comment
		{"cern.ch", "daq7", false},
		{"daq7.", "daq7", true},
		{"127.0.0.1", "daq7", true},
		{"127.0.0.1:9100", "daq7", true},
		{"10.1.2.3:9100", "daq7", true},
		{"[::1]:9100", "daq7", true},
		{"[::1]", "daq7", true},
		{"[fe80::1%25eth0]:9100", "daq7", true},
		{"localhost:9100", "daq7", true},
		{"LOCALHOST.:9100", "daq7", true},
		{"DAQ7:9100", "daq7", true},
		{"daq7", "daq7.example.org", true},
		{"daq7.example.org:1", "daq7.example.org", true},
		{"", "daq7", true},
		{"evil.example:9100", "daq7", false},
		{"127.0.0.1.evil.example:9100", "daq7", false},
		{"localhost.evil.example", "daq7", false},
		{"daq7.evil.example", "daq7", false},
		{"evil", "", false},
		{"2130706433", "daq7", false}, // an address to some browsers, which then write it as one
	}
	for _, test := range tests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = test.host
		w := httptest.NewRecorder()
		guard(reached, names(test.hostname, resolver)).ServeHTTP(w, r)
		if passes := w.Code == http.StatusNoContent; passes != test.passes {
			t.Errorf("%q at %q: got status %d, want it to pass: %v", test.host, test.hostname, w.Code, test.passes)
		}
		want := `the request is for "` + test.host + `", which may be the name of another site: address this server by its IP address`
		if !test.passes && (w.Code != http.StatusMisdirectedRequest || !strings.HasPrefix(w.Body.String(), want)) {
			t.Errorf("%q: got status %d and %q, want 421 and %q", test.host, w.Code, w.Body, want)
		}
	}
	if w := ask(handler(t, one), http.MethodGet, "/api/v1/state"); w.Code != http.StatusOK {
		t.Fatal("the API answers nothing: what follows proves nothing")
	}
	for _, path := range []string{"/api/v1/state", "/api/v1/events", "/api/v1/schema"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "evil.example"
		w := httptest.NewRecorder()
		handler(t, one).ServeHTTP(w, r)
		if w.Code != http.StatusMisdirectedRequest {
			t.Errorf("%s: got status %d, want 421", path, w.Code)
		}
	}
}

// TestQuestion reads all parameters.
func TestQuestion(t *testing.T) {
	q, err := ParseQuestion("busiest=2&peers=1&tags=0x5")
	if want := (state.Question{Peers: 1, Busiest: 2, Tags: tags.Of(5)}); err != nil || q.Peers != want.Peers || q.Busiest != want.Busiest || !q.Tags.Equal(want.Tags) {
		t.Errorf("got %+v and error %v, want %+v", q, err, want)
	}
	wrong := (*ParameterError)(nil)
	if _, err := ParseQuestion("peers=x"); !errors.As(err, &wrong) || wrong.Name != "peers" || wrong.Value != "x" {
		t.Errorf("got %v, want a *ParameterError for peers", err)
	}
	if q, err := ParseQuestion("tags="); err != nil || !q.Tags.IsEmpty() {
		t.Errorf("no tags: got %+v and error %v", q, err)
	}
}
