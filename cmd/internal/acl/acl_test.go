// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tagbus/cmd/internal/acl"
	"tagbus/cmd/internal/tool/tooltest"
)

const site = `{"rules": [
	{"who": "uri:spiffe://a/felix-*", "publish": "0x10-0x1f"},
	{"who": "cn:shift leader", "subscribe": "0x10-0x13"}
]}`

// run runs a command in a folder with the files of a site, and returns what it wrote and its status.
func run(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.json": site, "broken.json": `{"rules":[{"who":"felix","send":"1"}]}`,
		"good.txt":  "# what must hold\nallow uri:spiffe://a/felix-1 publish 0x10, 0x1f\n\n deny\tanonymous subscribe *\nallow \"cn:shift leader\" subscribe 0x10-0x13\ndeny \"cn:shift leader\" publish 0x10\n",
		"bad.txt":   "allow uri:spiffe://a/felix-1 publish 0x1f-0x20\ndeny uri:spiffe://a/felix-2 publish 0x0-0x10\ndeny anonymous send 1\n",
		"empty.txt": "# nothing\n",
		"word.txt":  "may anonymous send 1\n", "who.txt": "\nallow felix send 1\n", "quote.txt": "allow \"cn:a send 1\n",
		"action.txt": "allow cn:a sent 1\n", "tags.txt": "allow cn:a send 9-1\n", "none.txt": "allow cn:a send\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range args {
		if strings.HasSuffix(a, ".json") || strings.HasSuffix(a, ".txt") {
			args[i] = strings.Replace(a, "@", dir+"/", 1)
		}
	}
	out, errs, status = tooltest.Run(t.Context(), t, new(acl.Commands), args...)
	clean := func(text string) string {
		return regexp.MustCompile(`0x0+`).ReplaceAllString(strings.ReplaceAll(text, dir+"/", ""), "0x")
	}
	return clean(out), clean(errs), status
}

func TestCommands(t *testing.T) {
	tests := []struct {
		name      string
		args      []string
		out, errs string // patterns
		status    int
	}{
		{
			"explain",
			[]string{"explain", "--policy=@site.json", "uri:spiffe://a/felix-7", "0x10"},
			`^ACTION +ALLOWED +WHY\npublish +yes +rule 1 \(uri:spiffe://a/felix-\*\) lets uri:spiffe://a/felix-7 publish 0x10\nsubscribe +no +no rule lets uri:spiffe://a/felix-7 subscribe to 0x10: nearest is rule 1 .*\nsend +no .*\nreceive +no .*\ndescribe +no .*\n$`, "^$", 0,
		},
		{"explain an action", []string{"explain", "--policy=@site.json", "--action=subscribe", "cn:shift leader", "0x13"}, `^ACTION.*\nsubscribe +yes .*\n$`, "^$", 0},
		{"explain as JSON", []string{"explain", "--json", "--policy=@site.json", "--action=publish", "anonymous", "0x13"}, `^\{"who":"anonymous","action":"publish","tag":"0x13","allowed":false,"rule":1,"ruleWho":"uri:spiffe://a/felix-\*","text":"no rule lets .*"\}\n$`, "^$", 0},
		{"explain to a name without a kind", []string{"explain", "--policy=@site.json", "felix", "0x10"}, "^$", "^felix: not a name of a peer", 2},
		{"explain an unknown action", []string{"explain", "--policy=@site.json", "--action=read", "cn:a", "0x10"}, "^$", "^--action: acl: |^--action: unknown action read: want publish", 2},
		{"explain without a policy", []string{"explain", "--policy=@no.json", "cn:a", "0x10"}, "^$", "no.json: no such file or directory: name the right file", 1},
		{"a test that passes", []string{"test", "--policy=@site.json", "@good.txt"}, `^RESULT +LINE +EXPECTED +WHY\nmet +2 +allow uri:spiffe://a/felix-1 publish 0x10,0x1f +rule 1 .*\nmet +4 +deny anonymous subscribe \* +no rule lets anonymous .*\nmet +5 .*rule 2 \(cn:shift leader\) lets.*\nmet +6 .*\n$`, "^good.txt: 4 expectations, 0 not met\n$", 0},
		{"a test that fails", []string{"test", "--policy=@site.json", "--failed", "@bad.txt"}, `^RESULT .*\nFAILED +1 +allow uri:spiffe://a/felix-1 publish 0x1f-0x20 +no rule lets uri:spiffe://a/felix-1 publish 0x20: nearest is rule 1 .*\nFAILED +2 +deny uri:spiffe://a/felix-2 publish 0x-0x10 +rule 1 .* lets uri:spiffe://a/felix-2 publish 0x10\n$`, "^bad.txt: 3 expectations, 2 not met\n$", 1},
		{"a test as JSON", []string{"test", "--json", "--failed", "--policy=@site.json", "@bad.txt"}, `^\{"met":false,"line":1,"expected":"allow .*","why":\{"who":.*\}\}\n\{"met":false,"line":2,.*\n$`, "2 not met", 1},
		{"no expectations", []string{"test", "--policy=@site.json", "@empty.txt"}, "^$", "^empty.txt: no expectations", 1},
		{"no file of expectations", []string{"test", "--policy=@site.json", "@none.none.txt"}, "^$", "no such file", 1},
		{"expectations without end", []string{"test", "--policy=@site.json", "/dev/zero"}, "^$", "^/dev/zero: more than 16777216 bytes: this is another file", 1},
		{"an unknown word", []string{"test", "--policy=@site.json", "@word.txt"}, "^$", "^word.txt:1: got may, want allow or deny", 1},
		{"a name without a kind", []string{"test", "--policy=@site.json", "@who.txt"}, "^$", "^who.txt:2: felix: not a name", 1},
		{"a quote that does not end", []string{"test", "--policy=@site.json", "@quote.txt"}, "^$", "^quote.txt:1: the name of the peer has no closing quote", 1},
		{"an unknown action", []string{"test", "--policy=@site.json", "@action.txt"}, "^$", "^action.txt:1: unknown action sent", 1},
		{"tags that are none", []string{"test", "--policy=@site.json", "@tags.txt"}, "^$", "^tags.txt:1: tags: ", 1},
		{"no tags", []string{"test", "--policy=@site.json", "@none.txt"}, "^$", "^none.txt:1: no tags", 1},
		{"a broken policy", []string{"test", "--policy=@broken.json", "@good.txt"}, "^$", "^broken.json:1: rule 1: who: felix: not a pattern of peers", 1},
		{"check", []string{"check", "@site.json"}, `^site.json: 2 rules: good\n$`, "^$", 0},
		{"check two", []string{"check", "@broken.json", "@site.json"}, `^broken.json:1: rule 1: who: .*\nsite.json: 2 rules: good\n$`, "^$", 1},
		{"check as JSON", []string{"check", "--json", "@site.json"}, `^\{"file":"site.json","good":true,"rules":2\}\n$`, "^$", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := run(t, test.args...)
			if !regexp.MustCompile(test.out).MatchString(out) || !regexp.MustCompile(test.errs).MatchString(errs) || status != test.status {
				t.Errorf("got status %d\n%s\n%s\nwant status %d\n%s\n%s", status, out, errs, test.status, test.out, test.errs)
			}
		})
	}
}
