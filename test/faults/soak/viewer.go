// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// viewer looks at the page all the time.
type viewer struct {
	pictures atomic.Int64
	looks    atomic.Int64
	failed   atomic.Int64
	last     atomic.Int64 // time of the last picture
}

// sees reports whether a picture has come lately.
func (v *viewer) sees() bool { return time.Since(time.Unix(0, v.last.Load())) < 5*time.Second }

func (v *viewer) text() string {
	return fmt.Sprintf("the page sent %d pictures, and answered %d of %d questions", v.pictures.Load(), v.looks.Load()-v.failed.Load(), v.looks.Load())
}

// view looks at the page and at the metrics of the directory until ctx ends.
func (s *site) view(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DialContext: s.B.Dial, DisableKeepAlives: true}}
	var both sync.WaitGroup
	both.Go(func() {
		for ctx.Err() == nil {
			s.pictures(ctx, client)
			s.idle(ctx, time.Second)
		}
	})
	both.Go(func() {
		for ctx.Err() == nil {
			s.viewer.looks.Add(1)
			if _, err := get(ctx, client, "http://"+webAddress+"/api/v1/bus"); err != nil {
				s.viewer.failed.Add(1)
			}
			if text, err := get(ctx, client, "http://"+directoryAddress+":"+directoryPort+"/metrics"); err == nil {
				s.directoryGoroutines.Store(goroutinesIn(text))
			}
			s.idle(ctx, 5*time.Second)
		}
	})
	both.Wait()
	client.CloseIdleConnections()
}

// pictures reads the stream of the page until it ends.
func (s *site) pictures(ctx context.Context, client *http.Client) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+webAddress+"/live", nil)
	if err != nil {
		return
	}
	response, err := client.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			s.viewer.pictures.Add(1)
			s.viewer.last.Store(time.Now().UnixNano())
		}
	}
}

// get returns what is at a URL.
//
// Errors: those of the connection; another status than 200.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// goroutinesIn returns how many metrics name, or 0.
func goroutinesIn(metrics string) int64 {
	_, rest, _ := strings.Cut(metrics, "\ngo_goroutines ")
	number, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.ParseFloat(number, 64) // of metrics without it: 0
	return int64(n)
}
