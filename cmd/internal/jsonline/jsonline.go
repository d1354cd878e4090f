// SPDX-License-Identifier: Apache-2.0

// Package jsonline writes JSON as the commands, the page and the C library show it.
package jsonline

import (
	"bytes"
	"encoding/json"
)

// Marshal returns v as JSON in one line, with text as it is.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
