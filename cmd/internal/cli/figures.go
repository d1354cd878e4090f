package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// figures returns what a struct is in JSON as fields, in their order.
func figures(v any) []slog.Attr {
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

// figure returns a field whose text is as short as its kind allows.
func figure(key string, value json.RawMessage) slog.Attr {
	var s string
	if strings.HasPrefix(string(value), `"`) && json.Unmarshal(value, &s) == nil {
		return slog.String(key, s)
	}
	return slog.Any(key, value)
}

// isNested reports whether a field of figures is a list or an object.
func isNested(a slog.Attr) bool {
	value, ok := a.Value.Any().(json.RawMessage)
	return ok && (bytes.HasPrefix(value, []byte("{")) || bytes.HasPrefix(value, []byte("[")))
}
