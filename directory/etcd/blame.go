// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

const maxBad = 64 // keys that are named because they have no entry

// manySource is the source of the problem that more keys are bad than are named.
const manySource = "key:"

// nameBytes is how much of a key is kept to name it.
const nameBytes = 256

// nameOf returns a key, cut and with its sum behind it if it is long: strangers may have
// written megabytes.
func nameOf(key []byte) string {
	if len(key) <= nameBytes {
		return string(key)
	}
	sum := sha256.Sum256(key)
	return fmt.Sprintf("%s... (%d bytes, SHA-256 %x)", key[:nameBytes], len(key), sum[:8])
}

// blame reports that a key has no entry.
//
//   - key: as nameOf returns it.
func (s *shelf) blame(key string, err error) {
	if !s.bad[key] && len(s.bad) >= maxBad {
		s.d.feed.Report(manySource, fmt.Errorf("%w: more keys below %s than the %d that are named", ErrDamaged, sanitize.Text(s.d.config.Prefix), maxBad))
		return
	}
	s.bad[key] = true
	s.d.feed.Report(s.sourceOf(key), fmt.Errorf("%w: %s: %w: delete the key, or update this program if newer ones announce here",
		ErrDamaged, sanitize.Text(key), err))
}

// mend ends the problem of a key.
func (s *shelf) mend(key string) {
	if s.bad[key] {
		delete(s.bad, key)
		s.d.feed.Report(s.sourceOf(key), nil)
		s.d.feed.Report(manySource, nil)
	}
}

// sourceOf returns what the problem of a key is about: its instance, or the key itself.
func (s *shelf) sourceOf(key string) string {
	if instance := strings.TrimPrefix(key, s.d.entriesPrefix()); directory.ValidInstance(instance) {
		return instance
	}
	return "key:" + key
}
