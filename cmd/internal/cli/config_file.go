// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"tagbus/internal/filewatch"
)

// configFile is a file with values of flags. Its keys are their names; flags of a command
// are in a table of its name.
type configFile struct {
	path     string
	settings map[string]setting // by key, for example bus or hz.count
}

// setting is the value of a flag, as it would stand on the command line.
type setting struct {
	value  string
	isList bool
	line   int
}

// readConfigFile reads a file.
//
//   - known: the names of the flags that it may set, by their table; "" is the file itself.
//   - Errors: all that is wrong with it, joined, each with the file, and the line if it
//     can be told.
func readConfigFile(path string, known map[string][]string) (configFile, error) {
	f := configFile{path: path, settings: make(map[string]setting)}
	text, err := readSmall(path)
	if err != nil {
		return f, fmt.Errorf("--%s: %w", configFlag, err)
	}
	if err := f.bounded(text); err != nil {
		return f, err
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
		table, name, value, ok := place(values, key, known)
		if !ok {
			continue
		}
		if full := table + "." + name; !seen[full] { // else of a table, which is refused
			seen[full] = true
			if err := f.set(text, table, name, value, known); err != nil {
				errs = append(errs, err)
			}
			if len(errs) == maxConfigErrors {
				errs = append(errs, fmt.Errorf("%s: and perhaps more", path))
				break
			}
		}
	}
	return f, errors.Join(errs...)
}

// place returns the table in which a key is, its name there, and its value. ok is false for
// the name of a table.
func place(values map[string]any, key toml.Key, known map[string][]string) (table, name string, value any, ok bool) {
	for _, name = range key {
		value = values[name]
		full := strings.TrimPrefix(table+"."+name, ".")
		inside, isTable := value.(map[string]any)
		if !isTable || known[full] == nil {
			return table, name, value, true
		}
		table, values = full, inside
	}
	return "", "", nil, false
}

// set takes over the value of a flag.
//
//   - text: the file, for the line.
//   - table: the command that the flag is of; "": the program.
func (f *configFile) set(text []byte, table, name string, value any, known map[string][]string) error {
	line := lineOf(text, table, name)
	if table == "" && known[name] != nil {
		return fmt.Errorf("%s: %s: got a value, want a table with flags of the command: [%s]", f.at(line), name, name)
	}
	if !slices.Contains(known[table], name) {
		return fmt.Errorf("%s: %w", f.at(line), unknownKey(table, name, known))
	}
	shown := name
	if table != "" {
		shown = table + "." + name
	}
	as, ok := textOf(value)
	if !ok {
		return fmt.Errorf("%s: %s: got a %s, want a text, a number, true or false, or a list of these", f.at(line), shown, formOf(value))
	}
	_, isList := value.([]any)
	f.settings[shown] = setting{as, isList, line}
	return nil
}

// maxConfigBytes is more than all flags take.
const maxConfigBytes = 1 << 20

// readSmall reads a file, which may be a device without end.
func readSmall(path string) ([]byte, error) {
	file, err := filewatch.Read(path, maxConfigBytes)
	if large := (*filewatch.SizeError)(nil); errors.As(err, &large) {
		err = fmt.Errorf("%s: has more than 1 MiB: want a file with values of flags", path)
	}
	return file.Data, err
}

// at names a line of the file; 0: the file.
func (f *configFile) at(line int) string {
	if line == 0 {
		return f.path
	}
	return fmt.Sprintf("%s:%d", f.path, line)
}

// lineOf returns the line of a key, from 1, or 0 if it is written in an unusual way.
//
//   - table: in which the key is; "" for none.
func lineOf(text []byte, table, key string) int {
	begin := 0
	if table != "" {
		header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*["']?` + regexp.QuoteMeta(table) + `["']?[ \t]*\]`).FindIndex(text)
		if header == nil {
			return 0
		}
		begin = header[1]
	}
	quoted := regexp.QuoteMeta(key)
	at := regexp.MustCompile(`(?m)^[ \t]*(\[[ \t]*)*["']?` + quoted + `["']?[ \t]*[=.\]]`).FindIndex(text[begin:])
	if at == nil {
		return 0
	}
	return 1 + strings.Count(string(text[:begin+at[0]]), "\n")
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
func unknownKey(table, name string, known map[string][]string) error {
	keys, of := known[table], "a flag"
	if table != "" {
		of = "a flag of " + table
	} else {
		for command := range known {
			if command != "" {
				keys = append(keys[:len(keys):len(keys)], command)
				of = "a flag or a command"
			}
		}
	}
	if near := Nearest(name, keys); len(near) > 0 {
		return fmt.Errorf("unknown key %q, did you mean %q?", name, near[0])
	}
	return fmt.Errorf("unknown key %q: want the name of %s, without dashes in front", name, of)
}

// Nearest returns those of some names that resemble a name most: few letters must be added,
// dropped or replaced. The nearest come first.
func Nearest(name string, names []string) (near []string) {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, n := range names {
		if d := distance(name, n); d <= max(1, len(name)/3) {
			all = append(all, candidate{n, d})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	for _, c := range all {
		near = append(near, c.name)
	}
	return near
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
