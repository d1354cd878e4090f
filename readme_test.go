package tagbus_test

import (
	"os"
	"strings"
	"testing"
)

// TestQuickStartIsTheExample keeps the code of the README compiled and run: it
// is the body of node's Example.
func TestQuickStartIsTheExample(t *testing.T) {
	readme := between(t, "README.md", "```go\n", "```\n")
	example := between(t, "node/example_test.go", "func Example() {\n", "\t// Output:")
	var want strings.Builder
	for line := range strings.Lines(example) {
		want.WriteString(strings.TrimPrefix(line, "\t"))
	}
	if readme != want.String() {
		t.Errorf("the quick start of README.md is not node's Example:\ngot\n%s\nwant\n%s", readme, want.String())
	}
}

// between returns what stands in a file between two marks.
func between(t *testing.T, path, begin, end string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), begin)
	part, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has nothing between %q and %q", path, begin, end)
	}
	return part
}
