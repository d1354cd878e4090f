// SPDX-License-Identifier: Apache-2.0

// Command cipher is a yardstick of TLS: its subscriber seals messages with AES-GCM in
// records as those of TLS, and opens and checks them. There is no bus. Its publisher only
// says when to begin.
package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"

	"tagbus/bench/internal/load"
)

const (
	keyBytes    = 16 // TLS_AES_128_GCM_SHA256, which crypto/tls chooses
	recordBytes = 16 << 10
	headBytes   = 5 // of a record, which is authenticated, too
	nonceBytes  = 12
)

func main() {
	o := load.Parse()
	if o.Role == load.RolePub {
		load.Command()
		return
	}
	done := load.Commanded(o)
	messages, checker := run(o)
	done(messages)
	result := checker.Result()
	result.LastNS = load.Now()
	result.Report()
	select {} // until the runner ends it
}

// run seals and opens for a time.
func run(o load.Options) (messages uint64, checker *load.Checker) {
	c := newRecords()
	checker = load.NewChecker(o)
	var block []byte // messages that fill a record, or one of several records
	for len(block) == 0 || len(block)+o.Size <= recordBytes {
		block = append(block, load.NewMessage(o.Size)...)
	}
	opened := make([]byte, len(block))
	for until := load.Now() + int64(o.Seconds*1e9); load.Now() < until; {
		for range max(1, 64<<10/len(block)) {
			for at := 0; at < len(block); at += o.Size {
				load.Stamp(block[at:], messages, 0, 0)
				messages++
			}
			c.through(opened, block)
			for at := 0; at < len(opened); at += o.Size {
				checker.Take(opened[at : at+o.Size])
			}
		}
	}
	return messages, checker
}

// records seals and opens.
type records struct {
	aead   cipher.AEAD
	number uint64
	nonce  [nonceBytes]byte
	sealed []byte
}

func newRecords() *records {
	var key [keyBytes]byte
	_, err := rand.Read(key[:])
	load.Must(err)
	block, err := aes.NewCipher(key[:])
	load.Must(err)
	aead, err := cipher.NewGCM(block)
	load.Must(err)
	return &records{aead: aead, sealed: make([]byte, 0, recordBytes+aead.Overhead())}
}

// through seals from, and opens it into to.
func (r *records) through(to, from []byte) {
	var head [headBytes]byte
	for len(from) > 0 {
		n := min(recordBytes, len(from))
		binary.BigEndian.PutUint64(r.nonce[nonceBytes-8:], r.number)
		r.number++
		binary.BigEndian.PutUint16(head[headBytes-2:], uint16(n))
		sealed := r.aead.Seal(r.sealed, r.nonce[:], from[:n], head[:])
		_, err := r.aead.Open(to[:0], r.nonce[:], sealed, head[:])
		load.Must(err)
		to, from = to[n:], from[n:]
	}
}
