// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pebbe/zmq4"

	"tagbus/bench/internal/load"
)

// secure gives a socket keys, which the server has made, and the server those of clients
// that it lets in: CURVE alone would let in all.
func secure(s *zmq4.Socket, server bool) {
	if server {
		secret, clientPublic := makeKeys()
		load.Must(zmq4.AuthStart())
		zmq4.AuthCurveAdd("bench", clientPublic)
		load.Must(s.ServerAuthCurve("bench", secret))
		return
	}
	text, err := os.ReadFile(keyFile())
	load.Must(err)
	keys := strings.Fields(string(text))
	load.Must(s.ClientAuthCurve(keys[0], keys[1], keys[2]))
}

func keyFile() string { return filepath.Join(os.TempDir(), "curve.keys") }

// makeKeys makes the keys of both sides, and writes what the client needs.
func makeKeys() (secret, clientPublic string) {
	public, secret, err := zmq4.NewCurveKeypair()
	load.Must(err)
	clientPublic, clientSecret, err := zmq4.NewCurveKeypair()
	load.Must(err)
	load.Must(os.WriteFile(keyFile(), []byte(public+"\n"+clientPublic+"\n"+clientSecret+"\n"), 0o600))
	return secret, clientPublic
}
