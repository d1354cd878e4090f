// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// ErrNoMonitor is the error of a client that cannot be asked. Its publishers, or receivers, tell
// of it.
var ErrNoMonitor = errors.New("it serves no state: start it with --metrics, or ask what it is connected to")

// maxAnswer bounds the answer of a client, bytes.
const maxAnswer = 16 << 20

// Everyone returns the directory of --bus with the clients behind the publishers and receivers. A
// directory that keeps no clients is as it is.
func (e *Env) Everyone() (directory.Directory, error) {
	d, err := e.Directory()
	if err != nil {
		return nil, err
	}
	return &everyone{Directory: d, clients: directory.ClientsOf(d)}, nil
}

// WatcherOfAll returns a Watcher of the clients too, which are asked by HTTP if they serve their
// state.
func (e *Env) WatcherOfAll() (*overview.Watcher, error) {
	o, err := e.Observer()
	if err != nil {
		return nil, err
	}
	d, err := e.Everyone()
	if err != nil {
		return nil, err
	}
	w := overview.New(d, askers{worded{o}})
	if left := e.leftovers(); left != nil {
		w.SeeLeftovers(left)
	}
	return w, nil
}

// everyone lists clients too.
type everyone struct {
	directory.Directory
	clients directory.Directory // nil: none
}

// List returns the entries of both, the clients last.
//
// Errors: those of both, joined. Clients that cannot be read hide no publisher.
func (d *everyone) List() ([]directory.Entry, error) {
	entries, err := d.Directory.List()
	if d.clients == nil || errors.Is(err, ErrSilent) {
		return entries, err
	}
	clients, problem := d.clients.List()
	for _, e := range clients {
		if e.Role.IsClient() { // what else is there is strange
			entries = append(entries, e)
		}
	}
	return entries, errors.Join(err, problem)
}

// askers asks publishers and receivers over the bus, and clients by HTTP.
type askers struct{ overview.Asker }

func (a askers) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	switch {
	case !e.Role.IsClient():
		return a.Asker.Ask(ctx, e, q)
	case !e.Monitor.IsValid():
		return state.State{}, ErrNoMonitor
	default:
		return askMonitor(ctx, e, q)
	}
}

// clientsAtOnce is how many clients are asked at a time.
const clientsAtOnce = 64

// ClientStates asks clients by HTTP, all of them for the time of --timeout, and returns the answers
// by instance. Of one that gives none, there is what its entry says.
func (e *Env) ClientStates(ctx context.Context, clients []directory.Entry) map[string]*state.State {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	var (
		mu       sync.Mutex
		answers  = make(map[string]*state.State, len(clients))
		wg       sync.WaitGroup
		question = state.Question{Peers: state.MaxPeers}
		tokens   = make(chan struct{}, clientsAtOnce)
	)
	for i := range clients {
		tokens <- struct{}{}
		wg.Go(func() {
			defer func() { <-tokens }()
			e := &clients[i]
			s, err := askers{}.Ask(ctx, *e, question)
			if err != nil { // what it says is worth knowing, and nothing depends on it
				s = state.State{Instance: e.Instance, Host: e.Host, Backend: e.Backend}
			}
			mu.Lock()
			defer mu.Unlock()
			answers[e.Instance] = &s
		})
	}
	wg.Wait()
	return answers
}

// monitors is what asks programs by HTTP: no proxy is asked, and none leads elsewhere.
var monitors = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// askMonitor asks the program of a client for its state.
//
//   - Errors: the network's; what is wrong with the answer; the cause of the end of ctx.
func askMonitor(ctx context.Context, e directory.Entry, q state.Question) (s state.State, err error) {
	query := url.Values{"peers": {strconv.Itoa(q.Peers)}}
	at := (&url.URL{Scheme: "http", Host: e.Monitor.String(), Path: "/api/v1/state", RawQuery: query.Encode()}).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return s, err
	}
	response, err := monitors.Do(request)
	if err != nil {
		return s, fmt.Errorf("its state is not served: %w", errors.Unwrap(err)) // without the URL
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is of no use
	if response.StatusCode != http.StatusOK {
		return s, fmt.Errorf("its state is not served: %v answers %s", e.Monitor, sanitize.Text(response.Status))
	}
	var p state.Process
	body := &io.LimitedReader{R: response.Body, N: maxAnswer + 1}
	if err := json.NewDecoder(body).Decode(&p); err != nil {
		if body.N <= 0 {
			return s, fmt.Errorf("its state is more than %d bytes", maxAnswer)
		}
		return s, fmt.Errorf("its state cannot be read: %w", err)
	}
	for _, s := range p.Instances {
		if s.Instance == e.Instance {
			return s, nil
		}
	}
	return s, fmt.Errorf("another program serves %v: it has ended", e.Monitor)
}
