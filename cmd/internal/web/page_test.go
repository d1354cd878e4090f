// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tagbus/bus/state"
	"tagbus/cmd/internal/web"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPage returns the page of a bus that is closed with the test.
func newPage(t *testing.T, b *fakeBus) *web.Page {
	t.Helper()
	p := web.New(web.Scope{Of: "bus", Name: "/run/bus"}, b.source()).WithAPI(b.source())
	t.Cleanup(p.Close)
	return p
}

// answer returns what a page answers to one request.
func answer(p http.Handler, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:8080"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// TestEveryStaticFileIsServed, and no other.
func TestEveryStaticFileIsServed(t *testing.T) {
	p := newPage(t, &fakeBus{})
	types := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	n := 0
	err := fs.WalkDir(os.DirFS("."), "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		at, want := "/"+name, http.StatusOK
		switch name {
		case "static/index.html":
			at = "/"
		case "static/uplot/LICENSE":
			want = http.StatusNotFound
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		got := answer(p, http.MethodGet, at, nil)
		if got.Code != want || want == http.StatusOK && (got.Body.String() != string(data) || got.Header().Get("Content-Type") != types[path.Ext(name)]) {
			t.Errorf("%s: got status %d, type %q and %d bytes", at, got.Code, got.Header().Get("Content-Type"), got.Body.Len())
		}
		if want == http.StatusOK {
			n++
			again := answer(p, http.MethodGet, at, func(r *http.Request) { r.Header.Set("If-None-Match", got.Header().Get("ETag")) })
			if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("%s: got status %d the second time, want 304", at, again.Code)
			}
		}
		return nil
	})
	if err != nil || n < 15 {
		t.Errorf("got %d files and error %v", n, err)
	}
	for _, at := range []string{"/index.html", "/static", "/static/", "/static/../page.go", "/static/uplot/", "/favicon.ico", "/live/", "/api", "//", "/static/app.js/"} {
		if got := answer(p, http.MethodGet, at, nil); got.Code == http.StatusOK {
			t.Errorf("%s: got status 200 and %.60q", at, got.Body)
		}
	}
}

func TestUPlotIsWhatItsAuthorsPublish(t *testing.T) {
	sums := map[string]string{ // of uplot@1.6.32 of the npm registry
		"static/uplot/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"static/uplot/uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"static/uplot/LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	}
	for name, want := range sums {
		data, err := os.ReadFile(name)
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || got != want {
			t.Errorf("%s: got SHA-256 %s and error %v, want %s", name, got, err, want)
		}
	}
}

// TestHeaders holds every kind of answer to those that bind the browser.
func TestHeaders(t *testing.T) {
	p := newPage(t, &fakeBus{})
	for _, target := range []string{"/", "/static/app.js", "/api/v1/bus", "/nothing", "/live?view=nothing"} {
		got := answer(p, http.MethodGet, target, nil).Header()
		want := map[string]string{
			"Content-Security-Policy":      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Set-Cookie":                   "",
		}
		for name, value := range want {
			if got.Get(name) != value {
				t.Errorf("%s: %s: got %q, want %q", target, name, got.Get(name), value)
			}
		}
	}
}

// TestTheFilesKeepThePolicy: a browser refuses what is inline, and tells no test but this one.
func TestTheFilesKeepThePolicy(t *testing.T) {
	html, err := os.ReadFile("static/index.html")
	testkit.Must(t, err)
	for _, bad := range []string{`<script>`, `<style`, ` style=`, ` on\w+=`, `https?://`} {
		if found := regexp.MustCompile(bad).Find(html); found != nil {
			t.Errorf("index.html has %q", found)
		}
	}
	scripts, err := fs.Glob(os.DirFS("static"), "*.js")
	if err != nil || len(scripts) < 8 {
		t.Fatalf("got %d scripts and error %v", len(scripts), err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile("static/" + name)
		testkit.Must(t, err)
		// Text of peers could become elements by these.
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc", "cookie", "setAttribute('style'", "style: "} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	p := newPage(t, &fakeBus{})
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	var many []string // patterns
	for i := range state.MaxPatterns + 1 {
		many = append(many, fmt.Sprintf("%d%%260x%x", i<<1, uint64(1<<40|0x1ff<<1)))
	}
	tests := []struct {
		name, method, target string
		change               func(*http.Request)
		code                 int
		text                 string
	}{
		{"HEAD", "HEAD", "/", nil, 200, ""},
		{"HEAD of the stream", "HEAD", "/live", nil, 200, ""},
		{"POST", "POST", "/", nil, 405, "the page only shows: GET and HEAD\n"},
		{"DELETE", "DELETE", "/api/v1/bus", nil, 405, "the page only shows: GET and HEAD\n"},
		{"an IPv6 address", "GET", "/", host("[::1]:8080"), 200, ""},
		{"localhost", "GET", "/", host("localhost:8080"), 200, ""},
		{"another site that resolves to this host", "GET", "/", host("evil.example:8080"), 421, `the request is for "evil.example:8080", which may be the name of another site`},
		{"the stream for another site", "GET", "/live", host("evil.example"), 421, "which may be the name of another site"},
		{"the stream for a page of another site", "GET", "/live", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "empty"), 403, "the request comes from a page of another site\n"},
		{"a link on a page of another site", "GET", "/", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"), 200, ""},
		{"no view", "GET", "/live?view=all", nil, 400, `view: got "all", want one of [overview processes peers tags losses topology instance tag]` + "\n"},
		{"no tag", "GET", "/live?view=tag&tag=x", nil, 400, `tag: got "x", want a tag: 0x-hex, decimal or nine fields` + "\n"},
		{"rows", "GET", "/live?rows=-1", nil, 400, `rows: got "-1", want a number of rows` + "\n"},
		{"since", "GET", "/live?since=now", nil, 400, `since: got "now", want the number of a frame` + "\n"},
		{"a filter without end", "GET", "/live?filter=" + strings.Repeat("x", 101), nil, 400, `filter: got "xxxxxxxxxxxxxxxxxxxx...", want at most 100 bytes` + "\n"},
		{"a number of the API", "GET", "/api/v1/bus?peers=all", nil, 400, `peers: got "all", want a number, 0 or more` + "\n"},
		{"a parameter that the API does not have", "GET", "/api/v1/bus?tag=7", nil, 400, `parameter: got "tag", want one of [busiest filter limit offset peers tags]` + "\n"},
		{"a parameter of the API twice", "GET", "/api/v1/bus?tags=7&tags=8", nil, 400, `tags: got "7 and 8", want one value` + "\n"},
		{"a query of the API that is none", "GET", "/api/v1/bus?tags=7;limit=3", nil, 400, `query: got "tags=7;limit=3", want NAME=VALUE&...: `},
		{"a filter of the API without end", "GET", "/api/v1/bus?filter=" + strings.Repeat("x", 101), nil, 400, `filter: got "xxx`},
		{"patterns of the API without end", "GET", "/api/v1/bus?tags=" + strings.Join(many, ","), nil, 400, ", want at most 256 patterns\n"},
		{"tags of the API", "GET", "/api/v1/bus?tags=a-b", nil, 400, `tags: got "a-b", want tags: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := answer(p, test.method, test.target, test.change)
			body := got.Body.String()
			if test.code == http.StatusOK {
				body = ""
			}
			if got.Code != test.code || !strings.Contains(body, test.text) {
				t.Errorf("got status %d and %q, want %d and %q", got.Code, body, test.code, test.text)
			}
		})
	}
}

func TestAPI(t *testing.T) {
	b := &fakeBus{publishers: 50, subscribers: 10, tags: 1000}
	p := newPage(t, b)
	get := func(query string) (bus web.Bus) {
		t.Helper()
		w := answer(p, http.MethodGet, "/api/v1/bus"+query, nil)
		if err := json.Unmarshal(w.Body.Bytes(), &bus); err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s: got status %d, type %q, error %v", query, w.Code, w.Header().Get("Content-Type"), err)
		}
		return bus
	}
	all := get("?peers=2&busiest=3")
	if all.Version != state.Version || all.Matched != 50 || len(all.Entries) != 50 {
		t.Fatalf("got version %d, %d matched and %d entries", all.Version, all.Matched, len(all.Entries))
	}
	if s := all.Entries[7].State; s == nil || len(s.Peers) != 2 || len(s.Busiest) != 3 || s.Instance != all.Entries[7].Instance {
		t.Errorf("got %+v, want a state with 2 peers and 3 tags", s)
	}
	if diff := cmp.Diff(web.Entry{Error: "no answer in 900ms"}, all.Entries[3], cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() != ".Error" && p.Last().String() != ".State" && len(p) == 2
	}, cmp.Ignore())); diff != "" {
		t.Errorf("the one that does not answer: want (-) and got (+) differ:\n%s", diff)
	}
	if got := all.Entries[7].Monitor; got != "10.0.0.7:9100" {
		t.Errorf("got monitor %q, want that of the entry", got)
	}
	some := get("?filter=PUB-1&offset=2&limit=3")
	names := []string{}
	for _, e := range some.Entries {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"pub-11", "pub-12", "pub-13"}, names); diff != "" || some.Matched != 11 {
		t.Errorf("%d matched; want (-) and got (+) differ:\n%s", some.Matched, diff)
	}
	if get("?peers=4096&busiest=1024"); b.question().Peers > 16384/50 || b.question().Busiest > 16384/50 {
		t.Errorf("got question %+v, want one that bounds all answers together", b.question())
	}
}

// TestAPISumsAreBounded: the largest numbers ask for no more than others, also in the first
// question.
func TestAPISumsAreBounded(t *testing.T) {
	b := &fakeBus{publishers: 50, subscribers: 10, tags: 1000}
	most := strconv.Itoa(math.MaxInt)
	if w := answer(newPage(t, b), http.MethodGet, "/api/v1/bus?limit=1&peers="+most+"&busiest="+most, nil); w.Code != http.StatusOK {
		t.Errorf("got status %d and %q, want an answer", w.Code, w.Body)
	}
	if got := b.question(); got.Peers > 16384/50 || got.Busiest > 16384/50 {
		t.Errorf("got question %+v, want one that bounds all answers together", got)
	}
}

// TestAProcessShowsItself, whatever its role.
func TestAProcessShowsItself(t *testing.T) {
	for _, role := range []state.Role{state.Publisher, state.Subscriber, state.Sender, state.Receiver} {
		source := func(_ context.Context, q state.Question) (state.Process, error) {
			s := stateOf(0, 5, 10, q)
			s.Role, s.Monitor = role, "10.0.0.7:9100"
			return state.Process{Instances: []state.State{s}}, nil
		}
		p := web.NewOfProcess("publisher", source)
		f := firstFrame(t, p, "view=instance&id="+instanceOf(0))
		p.Close()
		want := web.Scope{Of: "process", Name: "pub-0", Instance: instanceOf(0), Role: string(role)}
		if diff := cmp.Diff(want, f.Scope); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", role, diff)
		}
		if len(f.Detail.Peers) != 5 || f.Totals.Peers != 5 {
			t.Errorf("%s: got %d connections and %d peers, want 5", role, len(f.Detail.Peers), f.Totals.Peers)
		}
		if got := f.Detail.State.Monitor; got != "10.0.0.7:9100" {
			t.Errorf("%s: got monitor %q, want that of the state", role, got)
		}
		other := map[state.Role]string{state.Publisher: "subscriber", state.Subscriber: "publisher", state.Sender: "receiver", state.Receiver: "sender"}[role]
		if got := f.Detail.Peers[0].Role; got != other {
			t.Errorf("%s: got a %s as its peer, want a %s", role, got, other)
		}
	}
}
