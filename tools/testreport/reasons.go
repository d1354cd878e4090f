// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// reasons holds the reasons for which a test may be skipped in a strict run.
type reasons []*regexp.Regexp

// readAllowed reads one regular expression a line. Empty lines and lines that
// begin with # are comments. No path gives an empty list.
func readAllowed(path string) (reasons, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list reasons
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		expression, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		list = append(list, expression)
	}
	return list, nil
}

// matches reports whether one of the expressions occurs in reason.
func (r reasons) matches(reason string) bool {
	for _, expression := range r {
		if expression.MatchString(reason) {
			return true
		}
	}
	return false
}
