// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tagbus/bus/state"
)

// api NAME PATH REGEXP fetches what a process answers beside its metrics, until it matches.
// Of /api/v1/events it takes the newest event. A state has to be as its schema says.
func askAPI(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: api NAME PATH REGEXP")
	}
	pattern := regexp.MustCompile(args[2])
	url := strings.TrimSuffix(metricsOf(ts, args[0]), "/metrics") + args[1]
	answers := func() string { return fetch(ts, url) }
	if strings.HasPrefix(args[1], "/api/v1/events") {
		answers = eventsOf(ts, url)
	}
	tick := time.NewTicker(scrapeInterval)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		text := answers()
		ts.Check(checkState(text))
		if pattern.MatchString(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: no answer matches %s after %v:\n%s", args[0], pattern, patience, text)
		}
	}
}

// eventsOf returns what reads the next event.
func eventsOf(ts *testscript.TestScript, url string) (next func() string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	ts.Defer(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	ts.Check(err)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	ts.Check(err)
	ts.Defer(func() { response.Body.Close() })
	body := bufio.NewReader(response.Body)
	return func() string {
		for {
			line, err := body.ReadString('\n')
			ts.Check(err)
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				return text
			}
		}
	}
}

// checkState returns what is wrong with a state, by its schema.
func checkState(text string) error {
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(state.Schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("state.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("state.json")
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return compiled.Validate(document)
}

// TestCheckStateRefuses what is no state: the scripts would not notice otherwise.
func TestCheckStateRefuses(t *testing.T) {
	var good bytes.Buffer
	if err := json.NewEncoder(&good).Encode(state.Process{Instances: []state.State{}}); err != nil {
		t.Fatal(err)
	}
	if err := checkState(good.String()); err != nil {
		t.Errorf("a process: %v", err)
	}
	for _, text := range []string{"", "{}", strings.Replace(good.String(), "instances", "things", 1)} {
		if checkState(text) == nil {
			t.Errorf("%q is taken for a state", text)
		}
	}
}
