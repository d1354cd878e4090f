// SPDX-License-Identifier: Apache-2.0

package sanitize

import "strings"

// hidden stands for the user and the password of a URL.
const hidden = "xxxxx"

// URL is Text of a URL, without the user and the password in it. It may be malformed: then package net/url, which
// hides them, refuses it, and its error has all of it.
func URL(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		s = scheme + "://" + hidden + rest[at:]
	}
	return Text(s)
}
