// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestTheLicenceIsTheOfficialText: one that differs in a byte is not recognised by tools.
func TestTheLicenceIsTheOfficialText(t *testing.T) {
	inRoot(t)
	text, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	const apache20 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != apache20 {
		t.Errorf("LICENSE is not https://www.apache.org/licenses/LICENSE-2.0.txt: got SHA-256 %x, want %s", sum, apache20)
	}
	notice, err := os.ReadFile("NOTICE")
	own, others, _ := strings.Cut(string(notice), "\n\n")
	if want := "tagbus\nCopyright 2026 The tagbus authors"; err != nil || own != want {
		t.Errorf("NOTICE: got %q and error %v, want %q", own, err, want)
	}
	// What is copied in goes out with every program, and so must its licence.
	uplot, err := os.ReadFile("cmd/internal/web/static/uplot/LICENSE")
	if text := strings.TrimSpace(strings.ReplaceAll(string(uplot), "\r\n", "\n")); err != nil || text == "" || !strings.Contains(others, text) || !strings.Contains(others, "uPlot 1.6.32") {
		t.Errorf("NOTICE: got no licence of uPlot in it (error %v)", err)
	}
}

func TestEverySourceFileNamesItsLicence(t *testing.T) {
	inRoot(t)
	lacking, seen, err := withoutLicence(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lacking {
		t.Errorf("%s does not name its licence: run scripts/spdx.sh", name)
	}
	if seen < 300 {
		t.Errorf("got %d source files, want all of them", seen)
	}
}

// withoutLicence returns the source files of all modules that do not name their licence
// where it belongs, and how many files it has looked at.
func withoutLicence(module fs.FS) (lacking []string, seen int, err error) {
	const line = "SPDX-License-Identifier: Apache-2.0\n"
	err = fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir():
			if hidden := strings.HasPrefix(base, ".") && name != "." && name != ".ci"; hidden || base == "testdata" ||
				name == "bin" || name == "bench/out" || slices.Contains(notOurs, name) {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		first, rest, _ := strings.Cut(string(text), "\n")
		named := false
		switch ext := path.Ext(name); {
		case strings.HasPrefix(first, "#!"):
			named = strings.HasPrefix(rest, "# "+line)
		case ext == ".py":
			named = first+"\n" == "# "+line
		case ext == ".js", ext == ".mjs":
			if strings.HasPrefix(name, "cmd/internal/web/static/uplot/") {
				return nil // others have written it, and TestUPlotIsWhatItsAuthorsPublish knows it
			}
			fallthrough
		case ext == ".go", ext == ".c", ext == ".h", ext == ".cpp", ext == ".hpp":
			named = first+"\n" == "// "+line && strings.HasPrefix(rest, "\n")
		default:
			return nil
		}
		seen++
		if !named {
			lacking = append(lacking, name)
		}
		return nil
	})
	return lacking, seen, err
}
