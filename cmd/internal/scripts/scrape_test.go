// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scrapeInterval is the time between two looks at the metrics.
const scrapeInterval = 20 * time.Millisecond

// metricsLine is where a command says that its metrics are.
var metricsLine = regexp.MustCompile(`(?:publisher|subscriber): metrics at (http://\S+)$`)

// scrape NAME REGEXP fetches the metrics of a process until a line of them
// matches, in multi-line mode: ^ and $ are the ends of a line.
func scrape(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: scrape NAME REGEXP")
	}
	pattern := regexp.MustCompile("(?m)" + args[1])
	url := metricsOf(ts, args[0])
	tick := time.NewTicker(scrapeInterval)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		text := fetch(ts, url)
		if pattern.MatchString(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: no metric matches %s after %v:\n%s", args[0], pattern, patience, text)
		}
	}
}

// healthy NAME asks the process whether it is.
func healthy(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: healthy NAME")
	}
	if got := fetch(ts, strings.TrimSuffix(metricsOf(ts, args[0]), "metrics")+"healthz"); got != "ok\n" {
		ts.Fatalf("%s: got %q, want ok", args[0], got)
	}
}

// metricsOf waits until a process says where its metrics are, and returns that.
func metricsOf(ts *testscript.TestScript, name string) (url string) {
	expect(ts, false, []string{name, metricsLine.String()})
	return metricsLine.FindStringSubmatch(processOf(ts, name).find(metricsLine))[1]
}

// fetch returns a page.
func fetch(ts *testscript.TestScript, url string) string {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	ts.Check(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	if response.StatusCode != http.StatusOK {
		ts.Fatalf("%s: got status %s:\n%s", url, response.Status, body)
	}
	return string(body)
}
