// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// configFile is a file with values of flags. Its keys are their names.
type configFile struct {
	path     string
	settings map[string]setting
}

// setting is the value of a flag, as it would stand on the command line.
type setting struct {
	value  string
	isList bool
	line   int
}

// readConfigFile reads a file.
//
//   - known: the names of the flags that it may set.
//   - Errors: all that is wrong with it, joined, each with the file, and the line if it
//     can be told.
func readConfigFile(path string, known []string) (configFile, error) {
	f := configFile{path: path, settings: make(map[string]setting)}
	text, err := readSmall(path)
	if err != nil {
		return f, fmt.Errorf("--%s: %w", configFlag, err)
	}
	var values map[string]any
	meta, err := toml.Decode(string(text), &values)
	if err != nil {
		if syntax := (toml.ParseError{}); errors.As(err, &syntax) && syntax.Message != "" {
			return f, fmt.Errorf("%s: %s", f.at(syntax.Position.Line), syntax.Message)
		}
		return f, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "toml: "))
	}
	var errs []error
	seen := make(map[string]bool)
	for _, key := range meta.Keys() {
		name := key[0]
		if seen[name] {
			continue // of a table, which is refused
		}
		seen[name] = true
		line := lineOf(text, name)
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("%s: %w", f.at(line), unknownKey(name, known)))
			continue
		}
		value, ok := textOf(values[name])
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %s: got a %s, want a text, a number, true or false, or a list of these", f.at(line), name, formOf(values[name])))
			continue
		}
		_, isList := values[name].([]any)
		f.settings[name] = setting{value, isList, line}
	}
	return f, errors.Join(errs...)
}

// maxConfigBytes is more than all flags take.
const maxConfigBytes = 1 << 20

// readSmall reads a file, which may be a device without end.
func readSmall(path string) (text []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err = io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	if err == nil && len(text) > maxConfigBytes {
		err = fmt.Errorf("%s: has more than 1 MiB: want a file with values of flags", path)
	}
	return text, err
}

// at names a line of the file; 0: the file.
func (f *configFile) at(line int) string {
	if line == 0 {
		return f.path
	}
	return fmt.Sprintf("%s:%d", f.path, line)
}

// lineOf returns the line of a key, from 1, or 0 if it is written in an unusual way.
func lineOf(text []byte, key string) int {
	quoted := regexp.QuoteMeta(key)
	at := regexp.MustCompile(`(?m)^[ \t]*(\[[ \t]*)*["']?` + quoted + `["']?[ \t]*[=.\]]`).FindIndex(text)
	if at == nil {
		return 0
	}
	return 1 + strings.Count(string(text[:at[0]]), "\n")
}

// textOf returns a value as it would stand on the command line, with commas between
// those of a list.
func textOf(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case []any:
		var parts []string
		for _, x := range v {
			part, ok := textOf(x)
			if _, nested := x.([]any); !ok || nested {
				return "", false
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), true
	default:
		return "", false
	}
}

// formOf names the form of a value that cannot be that of a flag.
func formOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return "table"
	case []any, []map[string]any:
		return "list of tables or lists"
	default:
		return "date or time"
	}
}

// unknownKey returns an error with the known key that resembles an unknown one most, if
// one does.
func unknownKey(name string, known []string) error {
	nearest, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if d := distance(name, k); d < least {
			nearest, least = k, d
		}
	}
	if nearest == "" {
		return fmt.Errorf("unknown key %q: want the name of a flag, without dashes in front", name)
	}
	return fmt.Errorf("unknown key %q, did you mean %q?", name, nearest)
}

// distance returns how many letters must be added, dropped or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from what was read of a to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
