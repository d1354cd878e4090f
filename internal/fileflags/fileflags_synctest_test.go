// SPDX-License-Identifier: Apache-2.0

package fileflags_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/internal/fileflags"
	"tagbus/internal/stuck"
)

// TestFilesHaveTheNamesOfTheirFlags: it was said which file is waited for, and not why.
func TestFilesHaveTheNamesOfTheirFlags(t *testing.T) {
	var flags struct {
		Cert    string   `placeholder:"FILE"`
		Revoked []string `placeholder:"FILE"`
		Out     string   `placeholder:"DIR"`
		Bus     string   `placeholder:"DIR|URL"`
		Name    string   `placeholder:"TEXT"`
		Rate    int      `placeholder:"N"`
		Files   []string `arg:""`
	}
	parser, err := kong.New(&flags)
	if err != nil {
		t.Fatal(err)
	}
	read, err := parser.Parse(strings.Fields("--cert /f/cert --revoked /f/1 --revoked /f/2 --out /f/out --bus etcds://a/x?ca=/f/ca&key=/f/key --name /f/name --rate 5 /f/out/read"))
	if err != nil {
		t.Fatal(err)
	}
	fileflags.Name(read)
	for path, want := range map[string]string{
		"/f/cert": " (--cert)", "/f/1": " (--revoked)", "/f/2": " (--revoked)", filepath.Join("/f/out", "a"): " (--out)", "/f/out/read": "",
		"/f/ca": " (ca of --bus)", "/f/key": " (key of --bus)", "/f/name": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			defer stuck.On(path)()
			time.Sleep(stuck.Patience)
			synctest.Wait()
			if n, late := stuck.Late(); !late || n.Text() != "waiting for "+path+want+": its file system does not answer" {
				t.Errorf("got %s, want%s behind %s", n.Text(), want, path)
			}
		})
	}
}
