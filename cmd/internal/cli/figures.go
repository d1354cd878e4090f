// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
)

// Fields returns what a struct is in JSON as fields of a record, in their order.
func Fields(v any) []slog.Attr {
	text, err := json.Marshal(v)
	if err != nil {
		return []slog.Attr{slog.String("cause", err.Error())}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var fields []slog.Attr
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			break // Marshal has written it: it is never wrong
		}
		if key != "program" { // all records have it
			fields = append(fields, figure(fmt.Sprint(key), value))
		}
	}
	return fields
}

// figure returns a field whose value has the type that it has in JSON.
func figure(key string, value json.RawMessage) slog.Attr {
	if n, err := strconv.ParseUint(string(value), 10, 64); err == nil { // a float64 has too few digits
		return slog.Uint64(key, n)
	}
	var v any
	if isNested(slog.Any(key, value)) || json.Unmarshal(value, &v) != nil {
		return slog.Any(key, value)
	}
	return slog.Any(key, v)
}

// isNested reports whether a field of figures is a list or an object.
func isNested(a slog.Attr) bool {
	value, ok := a.Value.Any().(json.RawMessage)
	return ok && (bytes.HasPrefix(value, []byte("{")) || bytes.HasPrefix(value, []byte("[")))
}
