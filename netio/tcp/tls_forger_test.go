// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"net"
	"testing"

	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// Types of records, and of what is in them.
const (
	typeChangeCipherSpec = 20
	typeAlert            = 21
	typeHandshake        = 22
	typeData             = 23
)

// forger is a client with a certificate that counts, and makes records that crypto/tls
// never sends. It takes the keys of a tls.Conn after the handshake.
type forger struct {
	*net.TCPConn
	tb     testing.TB
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// dialForger connects to a server, and returns both ends.
func dialForger(tb testing.TB, server *served, ca *pki.Authority, own tls.Certificate) (*forger, netio.Endpoint) {
	tb.Helper()
	cfg, log := clientConfig(ca, own), &bytes.Buffer{}
	cfg.NextProtos, cfg.KeyLogWriter = []string{tcp.TLSProtocol}, log
	f := &forger{TCPConn: dialRaw(tb, server.l.Addr()), tb: tb}
	c := tls.Client(f.TCPConn, cfg)
	if err := c.Handshake(); err != nil {
		tb.Fatalf("handshake: got error %v, want none", err)
	}
	if got := c.ConnectionState().CipherSuite; got != tls.TLS_AES_128_GCM_SHA256 {
		tb.Skipf("needs AES in the processor: crypto/tls has chosen %s", tls.CipherSuiteName(got))
	}
	for line := range bytes.Lines(log.Bytes()) {
		if words := bytes.Fields(line); len(words) == 3 && string(words[0]) == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(string(words[2]))
			if err != nil {
				tb.Fatalf("key log: got error %v, want none", err)
			}
			f.use(secret)
		}
	}
	return f, next(tb, "OnConnectionEstablished", server.Established)
}

// use derives the key of a secret.
func (f *forger) use(secret []byte) {
	f.secret, f.seq = secret, 0
	block, err := aes.NewCipher(f.expand("key", 16))
	if err == nil {
		f.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		f.tb.Fatalf("AES-GCM: got error %v, want none", err)
	}
	f.iv = f.expand("iv", 12)
}

// expand is HKDF-Expand-Label of RFC 8446, section 7.1, without a context.
func (f *forger) expand(label string, n int) []byte {
	label = "tls13 " + label
	info := append([]byte{0, byte(n), byte(len(label))}, label...)
	key, err := hkdf.Expand(sha256.New, f.secret, string(append(info, 0)), n)
	if err != nil {
		f.tb.Fatalf("HKDF: got error %v, want none", err)
	}
	return key
}

// record seals a record with content of a type.
func (f *forger) record(kind byte, content []byte) []byte {
	size := len(content) + 1 + 16
	head := []byte{typeData, 3, 3, byte(size >> 8), byte(size)}
	nonce := bytes.Clone(f.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^f.seq)
	f.seq++
	return f.aead.Seal(head, nonce, append(bytes.Clone(content), kind), head)
}

// update seals a KeyUpdate, and changes the key.
//
//   - request: 1 asks the peer to change its key, too.
func (f *forger) update(request byte) []byte {
	r := f.record(typeHandshake, []byte{24, 0, 0, 1, request})
	f.use(f.expand("traffic upd", sha256.Size))
	return r
}

// updates seals n of them, and a message behind.
func (f *forger) updates(n int, request byte, message []byte) (all []byte) {
	for range n {
		all = append(all, f.update(request)...)
	}
	return append(all, f.record(typeData, frame(message))...)
}
