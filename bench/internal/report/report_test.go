// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"tagbus/bench/internal/costs"
	"tagbus/bench/internal/load"
	"tagbus/bench/internal/report"
	"tagbus/bench/internal/run"
)

// records returns a measurement for each value, in messages per second.
func records(system string, values ...float64) []run.Record {
	var all []run.Record
	for round, v := range values {
		all = append(all, run.Record{
			Scenario: "throughput/40B", System: system, Round: round, Seconds: 1,
			Sent: uint64(v), Received: uint64(v), PublisherCPU: 0.5, SubscriberCPU: 0.25,
		})
	}
	return all
}

// of moves measurements to another scenario.
func of(scenario string, all []run.Record) []run.Record {
	for i := range all {
		all[i].Scenario = scenario
	}
	return all
}

func data(rows ...[]run.Record) report.Data {
	var d report.Data
	for _, r := range rows {
		d.Records = append(d.Records, r...)
	}
	return d
}

func TestTables(t *testing.T) {
	lossy := records("nng", 1e6)
	lossy[0].Lost = 1e6
	failed := run.Record{Scenario: "throughput/40B", System: "zmq4", Error: "no answer"}
	tests := []struct {
		name string
		data report.Data
		want string // a line
	}{
		{
			"a goal that is met", data(records("tagbus-tcp", 40e6, 50e6, 60e6), records("libzmq", 5e6, 1e6, 4e6)),
			"| throughput/40B | M msg/s | tagbus-tcp / libzmq | ≥ 9.00x | 12.50x | met |",
		},
		{
			"a goal of another system that is not met", data(records("tagbus-batch", 40e6), records("c-record+cc", 100e6)),
			"| throughput/40B | M msg/s | tagbus-batch / c-record+cc | ≥ 1.70x | 0.40x | **not met** |",
		},
		{
			"a goal of a scenario before", data(of("fanout/16/40B/one-stopped", records("tagbus", 30e6)), of("fanout/16/40B", records("tagbus", 20e6))),
			"| fanout/16/40B/one-stopped | M msg/s | tagbus / tagbus in fanout/16/40B | ≥ 0.84x | 1.50x | met |",
		},
		{
			"a goal of another figure", data(of("openloop/64B/50000-per-s/spins", records("tagbus", 3e6)), of("openloop/64B/50000-per-s/spins", records("c-epoll-apart+cc", 1e6))),
			"| openloop/64B/50000-per-s/spins | CPU s per million | tagbus / c-epoll-apart+cc | ≤ 2.00x | 0.33x | met |",
		},
		{
			"a goal that is a number", data([]run.Record{{Scenario: "idle/node", System: "tagbus", Extra: map[string]float64{"publisher_idle_cpu": 0.0123}}}),
			"| idle/node | CPU share, idle | tagbus | ≤ 0.50 % | 1.23 % | **not met** |",
		},
		{
			"median, extremes and processor time", data(records("tagbus", 60e6, 40e6, 50e6)),
			"| tagbus | 50 | 40 – 60 | 1.00 | 0.015 | 0 | 0 % |",
		},
		{
			"the median of an even number", data(records("tagbus", 40e6, 60e6)),
			"| tagbus | 50 | 40 – 60 | 1.00 | 0.016 | 0 | 0 % |",
		},
		{"losses", data(lossy), "| nng | 1 | 1 – 1 | – | 0.750 | 50.0 % | 0 % |"},
		{"no ratio without the system that is compared", data(records("libzmq", 4e6)), "| libzmq | 4 | 4 – 4 | – | 0.188 | 0 | 0 % |"},
		{"a measurement that failed", data(records("tagbus", 1), []run.Record{failed}), "- zmq4: 1 measurements failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := report.Tables(test.data)
			if !strings.Contains("\n"+got, "\n"+test.want+"\n") {
				t.Errorf("tables: got\n%s\nwant a line\n%s", got, test.want)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	record := run.Record{
		Scenario: "profile/4", System: "tagbus", Seconds: 1, Sent: 1e6, Received: 4e6, PublisherCPU: 0.5,
		Extra:   map[string]float64{load.SentPages: 4000, load.SentMessages: 4e6, run.SendCalls: 2000},
		Profile: map[string]float64{costs.Copy: 40e6, costs.Send: 400e6},
	}
	uncounted := record
	uncounted.Scenario, uncounted.Extra = "profile/16", nil
	want := []string{
		"| ns of CPU for each message published, to this many subscribers | 4 | 16 |",
		"| copy into the page | 40.0 | 40.0 |",
		"| all samples of the profile | 440.0 | 440.0 |",
		"| all that the system has counted | 500.0 | 500.0 |",
		"| pages filled | 1.00 | – |",
		"| calls of sendmsg | 2.00 | – |",
		"| µs of CPU in each call of sendmsg | 200.0 | – |",
	}
	got := report.Tables(data([]run.Record{record, record}, []run.Record{uncounted}))
	for _, line := range want {
		if strings.Count(got, line+"\n") != 1 {
			t.Errorf("tables: got\n%s\nwant a line\n%s", got, line)
		}
	}
	if got := report.Tables(data(records("tagbus", 1))); strings.Contains(got, "publisher's time") {
		t.Errorf("tables without profiles: got\n%s\nwant nothing of them", got)
	}
}

func TestFaults(t *testing.T) {
	with := func(system string, change func(*run.Record)) report.Data {
		r := records(system, 10)
		change(&r[0])
		return data(r)
	}
	tests := []struct {
		name string
		data report.Data
		want string // in the error; empty: no error
	}{
		{"all is well", data(records("tagbus", 10)), ""},
		{"a system that waits has lost something", with("tagbus", func(r *run.Record) { r.Lost = 1 }), "1 of 10 messages lost"},
		{"one that may has lost something", with("nng", func(r *run.Record) { r.Lost = 1 }), ""},
		{"something arrived changed", with("nng", func(r *run.Record) { r.Corrupt = 2 }), "2 messages corrupt"},
		{"something arrived out of order", with("tagbus", func(r *run.Record) { r.Disordered = 3 }), "3 out of order"},
		{"a measurement failed", with("tagbus", func(r *run.Record) { r.Error = "no answer" }), "no answer"},
		{"nothing arrived", with("tagbus", func(r *run.Record) { r.Received = 0 }), "nothing was received"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.data.Faults()
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("faults: got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDocumentAndPlot(t *testing.T) {
	ping := run.Record{Scenario: "pingpong/64B/channel", System: "c-epoll+cc", Seconds: 1, Latency: load.Histogram{Count: 1, P50: 60e3, P99: 90e3}}
	d := data(records("tagbus", 50e6), records("tagbus-tcp", 50e6), records("libzmq", 4e6), []run.Record{ping})
	d.Machine.Skipped = map[string]string{"nng": "no library"}
	d.Machine.Congestion, d.Machine.Fast = "bbr", "cubic"
	for _, want := range []string{"not edited", "| the system's: bbr; +cc: cubic; tagbus: ", "| not measured | nng: no library |", "| libzmq | libzmq in C", "## Goals"} {
		if got := report.Document(d); !strings.Contains(got, want) {
			t.Errorf("document: got\n%s\nwant %q in it", got, want)
		}
	}
	plot := report.Plot(d)
	for _, want := range []string{">tagbus<", ">libzmq<", ">c-epoll+cc<", "60.0, 90.0"} {
		if !strings.Contains(plot, want) {
			t.Errorf("plot: got\n%s\nwant %q in it", plot, want)
		}
	}
	for decoder := xml.NewDecoder(strings.NewReader(plot)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("plot: got error %v, want XML", err)
		}
	}
}

func TestRawDataIsReadAsItWasWritten(t *testing.T) {
	folder := t.TempDir()
	d := data(records("tagbus", 50e6), records("libzmq", 4e6))
	d.Machine.Commit = "abc"
	if err := report.WriteDocument(folder, d); err != nil {
		t.Fatalf("write: got error %v, want none", err)
	}
	got := readFile(t, folder+"/benchmarks.jsonl")
	if report.Document(got) != report.Document(d) {
		t.Errorf("document of what was read: got\n%s\nwant\n%s", report.Document(got), report.Document(d))
	}
}

// TestARunThatCameLater replaces the scenarios that it has measured, and no others.
func TestARunThatCameLater(t *testing.T) {
	const raw = `{"commit":"first","profile":{"Rounds":3}}
{"scenario":"throughput/40B","system":"tagbus","seconds":1,"received":50000000}
{"scenario":"record/40B","system":"tagbus-count","seconds":1,"received":30000000}
{"scenario":"record/40B","system":"mcap","seconds":1,"received":6000000}
{"commit":"second"}
{"scenario":"record/1KiB","system":"dd","seconds":1,"received":4000000}
{"commit":"third","command":"make bench","profile":{"Rounds":5,"Seconds":2}}
{"scenario":"record/40B","system":"tagbus-record","seconds":2,"subscriber_cpu":1.5,"received":30000000,"extra":{"file_bytes_per_message":43.25}}
{"scenario":"record/1KiB","system":"dd","seconds":1,"received":2000000}
`
	d, err := report.Read(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := report.WriteDocument(folder, d); err != nil {
		t.Fatal(err)
	}
	got := report.Document(readFile(t, folder+"/benchmarks.jsonl"))
	for _, want := range []string{
		"| commit | `first` |\n",
		"| measured later | record/40B, record/1KiB: `make bench`, commit `third`, , , Linux , 5 of 2 s each |\n",
		"| tagbus | 50 |", "| dd | 2 |", "| tagbus-record | 15 | 15 – 15 | 50 | 43.2 | 1.00 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("document: got\n%s\nwant %q in it", got, want)
		}
	}
	for _, replaced := range []string{"tagbus-count | 30", "| mcap | 6", "second"} {
		if strings.Contains(got, replaced) {
			t.Errorf("document: got\n%s\nwant no %q, which was replaced", got, replaced)
		}
	}
	if _, err := report.Read(strings.NewReader(`{"scenario":"record/40B"}`)); err == nil || !strings.Contains(err.Error(), "before the machine") {
		t.Errorf("raw data without a machine: got error %v, want one", err)
	}
}

func readFile(t *testing.T, name string) report.Data {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := report.Read(file)
	if err != nil {
		t.Fatalf("read: got error %v, want none", err)
	}
	return d
}
