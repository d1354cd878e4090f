// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mostStops is how many files a reader has to open to follow a message.
const mostStops = 8

// crossings are the functions from which a way goes on through an interface, a queue of the
// loop or the network, and what they call there. A function that has its name in common with
// another one of a way is named with its file.
var crossings = map[string]string{
	"post":       "Send",   // netio.Endpoint, whose queue the loop empties
	"flush":      "send",   // the system
	"deliverOne": "OnData", // netio.Handler, which finds the source in the endpoint's context

	"bus/internal/request/group.go subscribe": "Queue", // request.Side, which gives it to sendqueue
	"bus/internal/sendqueue/control.go Pump":  "Pump",  // the endpoint, and the publisher gets it
	"bus/link_subscribe.go subscribe":         "Run",   // fanout.Group, which queues the acknowledgement

	"lose": "Gap",  // intake.Side, which is the dispatcher
	"push": "post", // netio.Loop, which calls tellSome
}

// stop is a file of the way, and its functions in the order in which they are called.
type stop struct {
	file      string
	functions []string
}

// stopLine begins with a number, a file and at least one function.
var stopLine = regexp.MustCompile("(?m)^\\d+\\. ((?:`[^`]+`,? ?)+):")

// stops returns the numbered list of a text.
func stops(text string) (way []stop) {
	for _, item := range stopLine.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, name := range code.FindAllStringSubmatch(item[1], -1) {
			names = append(names, name[1])
		}
		way = append(way, stop{names[0], names[1:]})
	}
	return way
}

// ways are the lists in docs/architecture.md, by their headings, with their ends.
var ways = []struct{ heading, first, last string }{
	{"The way of a message", "bus/publish.go PublishStatus", "bus/dispatch.go deliver"},
	{"The way of a subscription", "bus/subscribe.go SubscribeWith", "bus/source_control.go onSubscribed"},
	{"The way of a gap", "bus/source_control.go onControl", "bus/internal/events/queue.go tellOne"},
}

// TestTheWayOfAMessage holds the lists in docs/architecture.md to the code: each is short,
// and each function calls the next one.
func TestTheWayOfAMessage(t *testing.T) {
	inRoot(t)
	for _, w := range ways {
		t.Run(w.heading, func(t *testing.T) {
			way := stops(between(t, "docs/architecture.md", "## "+w.heading+"\n", "\n## "))
			mistakes := checkWay(way, func(file string) (string, error) {
				text, err := os.ReadFile(file)
				return string(text), err
			})
			for _, mistake := range mistakes {
				t.Error("docs/architecture.md, " + w.heading + ": " + mistake)
			}
			if len(way) == 0 {
				return
			}
			begin, end := way[0], way[len(way)-1]
			if first := begin.file + " " + begin.functions[0]; first != w.first {
				t.Errorf("the way begins at %s, want %s", first, w.first)
			}
			if last := end.file + " " + end.functions[len(end.functions)-1]; last != w.last {
				t.Errorf("the way ends at %s, want %s", last, w.last)
			}
		})
	}
}

// checkWay returns what is wrong with a way through files, which read returns.
func checkWay(way []stop, read func(file string) (string, error)) (mistakes []string) {
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	if len(way) == 0 || len(way) > mostStops {
		wrong("%d files, want 1 to %d", len(way), mostStops)
	}
	visited := make(map[string]bool)
	for i, s := range way {
		if visited[s.file] {
			wrong("it comes back to %s, want one direction", s.file)
		}
		visited[s.file] = true
		text, err := read(s.file)
		if err != nil {
			wrong("%v", err)
			continue
		}
		calls, err := callsOf(s.file, text)
		if err != nil {
			wrong("%v", err)
			continue
		}
		if len(s.functions) == 0 {
			wrong("%s without a function", s.file)
		}
		for j, name := range s.functions {
			next, ok := crossings[s.file+" "+name]
			if !ok {
				next = crossings[name]
			}
			switch {
			case next != "":
			case j+1 < len(s.functions):
				next = s.functions[j+1]
			case i+1 < len(way) && len(way[i+1].functions) > 0:
				next = way[i+1].functions[0]
			}
			if calls[name] == nil {
				wrong("%s declares no %s", s.file, name)
			} else if next != "" && !calls[name][next] {
				wrong("%s in %s does not call %s", name, s.file, next)
			}
		}
	}
	return mistakes
}

// callsOf returns, for each function and method of a file, the names that it calls.
func callsOf(file, text string) (map[string]map[string]bool, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	calls := make(map[string]map[string]bool)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if calls[f.Name.Name] == nil { // methods of two types may have one name
			calls[f.Name.Name] = make(map[string]bool)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch called := call.Fun.(type) {
				case *ast.Ident:
					calls[f.Name.Name][called.Name] = true
				case *ast.SelectorExpr:
					calls[f.Name.Name][called.Sel.Name] = true
				}
			}
			return true
		})
	}
	return calls, nil
}

func TestCheckWay(t *testing.T) {
	files := map[string]string{
		"a.go": "package a\nfunc f() { x.g() }\nfunc (T) g() { b.h(1) }\n",
		"b.go": "package b\nfunc h(int) { flush() }\nfunc flush() { s.send() }\n",
		"c.go": "package c\nfunc end() {}\n",
		"d.go": "no Go",
		"e.go": "package e\nfunc post() { end() }\n",
	}
	read := func(file string) (string, error) {
		if text, ok := files[file]; ok {
			return text, nil
		}
		return "", fmt.Errorf("no file %s", file)
	}
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"a way", "1. `a.go`, `f`, `g`: begins.\n2. `b.go`, `h`, `flush`: sends,\n   with `x`.\n3. `c.go`, `end`: ends.\n", nil},
		{"none", "A text with `a.go`.\n", []string{"0 files, want 1 to 8"}},
		{"a file that is gone", "1. `f.go`, `f`: it was here.\n", []string{"no file f.go"}},
		{"a file that is not Go", "1. `d.go`, `f`: it was here.\n", []string{"d.go:1:1: expected 'package', found no"}},
		{"a function that is gone", "1. `c.go`, `f`: it was here.\n", []string{"c.go declares no f"}},
		{"no function", "1. `c.go`: somewhere.\n", []string{"c.go without a function"}},
		{"a call that is gone", "1. `a.go`, `f`: begins.\n2. `b.go`, `h`: goes on.\n", []string{"f in a.go does not call h"}},
		{"a crossing that is gone", "1. `e.go`, `post`: sends.\n2. `c.go`, `end`: ends.\n", []string{"post in e.go does not call Send"}},
		{"a way back", "1. `c.go`, `end`: ends.\n2. `c.go`, `end`: again.\n", []string{"end in c.go does not call end", "it comes back to c.go, want one direction"}},
		{"a long way", strings.Repeat("1. `f.go`, `f`: on.\n", 9), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := checkWay(stops(test.text), read)
			if test.name == "a long way" {
				got, test.want = got[:1], []string{"9 files, want 1 to 8"}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}
