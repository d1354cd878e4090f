// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestOddConfigurationFilesAreRefused, by a look at their bytes: the parser takes minutes for
// some of the largest ones.
func TestOddConfigurationFilesAreRefused(t *testing.T) {
	const large = 300_000
	many := func(format string) string {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, test := range map[string]struct{ text, want string }{
		"lists in lists":         {"bus = " + strings.Repeat("[", large), ":1: lists in lists: want a text, a number, true or false, or a list of these"},
		"lists in lists by line": {"bus = " + strings.Repeat("[\n", large), ":17: lists in lists: want a text, a number, true or false, or a list of these"},
		"tables in tables":       {"bus = " + strings.Repeat("{a=", 15), ""},
		"deep tables":            {"bus = " + strings.Repeat("{a=", large), ":1: more than 1000 settings: want a file with values of flags"},
		"a name of many parts":   {"a" + strings.Repeat(".a", large) + " = 1", ":1: a name of 300001 parts: want one flag, or a command and one"},
		"a table of many parts":  {"[a" + strings.Repeat(".a", large) + "]", ":1: a name of 300001 parts: want one flag, or a command and one"},
		"many names":             {many("k%d = 1\n"), ":1001: more than 1000 settings: want a file with values of flags"},
		"many tables":            {many("[k%d]\n"), ":1001: more than 1000 settings: want a file with values of flags"},
		"a device without end":   {"/dev/zero", "--config: /dev/zero: has more than 1 MiB: want a file with values of flags"},
	} {
		t.Run(name, func(t *testing.T) {
			path := test.text
			if !strings.HasPrefix(path, "/dev/") {
				path = filepath.Join(t.TempDir(), "f.toml")
				testkit.Must(t, os.WriteFile(path, []byte(test.text), 0o600))
			}
			_, err := readConfigFile(path, map[string][]string{"": {"bus"}})
			if err == nil || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %.200v, want …%s", err, test.want)
			}
		})
	}
}

// TestConfigurationFilesOfOtherSystems: a mark of the byte order, ends of lines of Windows, and
// text that looks like lists are none of the odd ones.
func TestConfigurationFilesOfOtherSystems(t *testing.T) {
	long := strings.Repeat("  '10.0.0.1 = [::1]',\r\n", 400)
	path := filepath.Join(t.TempDir(), "f.toml")
	testkit.Must(t, os.WriteFile(path, []byte("\xef\xbb\xbfbus = 'a.b.c'\r\n[hz]\r\ntags = [\r\n"+long+"]\r\n"), 0o600))
	f, err := readConfigFile(path, map[string][]string{"": {"bus"}, "hz": {"tags"}})
	if err != nil || f.settings["bus"].value != "a.b.c" || !strings.HasPrefix(f.settings["hz.tags"].value, "10.0.0.1 = [::1],") {
		t.Errorf("got %.200v and %v", f.settings, err)
	}
}

// TestMistakesOfAConfigurationFileAreFew: each is looked for in the whole file.
func TestMistakesOfAConfigurationFileAreFew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.toml")
	var text strings.Builder
	for i := range 900 {
		fmt.Fprintf(&text, "k%d = 1\n", i)
	}
	testkit.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	_, err := readConfigFile(path, map[string][]string{"": {"bus"}})
	if got := strings.Count(fmt.Sprint(err), "\n") + 1; got != maxConfigErrors+1 {
		t.Errorf("got %d lines, want %d: %v", got, maxConfigErrors+1, err)
	}
}
