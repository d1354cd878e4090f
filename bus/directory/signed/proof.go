// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"tagbus/bus/directory"
)

// The numbers of the format; the package comment draws it.
const (
	proofVersion    = 1
	maxCertificates = 8
	headBytes       = 11 // before the certificates

	withECDSA   = 1
	withRSA     = 2
	withEd25519 = 3
)

// domain and waysDomain keep what is signed apart from all else that the key signs, such as handshakes.
const (
	domain     = "tagbus directory entry, version 1\x00"
	waysDomain = "tagbus directory ways, version 1\x00"
)

// algorithms are those of crypto/x509.
var algorithms = map[byte]x509.SignatureAlgorithm{
	withECDSA: x509.ECDSAWithSHA256, withRSA: x509.SHA256WithRSAPSS, withEd25519: x509.PureEd25519,
}

// proof is what Entry.Proof says.
type proof struct {
	algorithm byte
	nanos     int64    // time of signing, since 1970
	chain     [][]byte // DER; that of the signer first
	signed    []byte   // the proof up to the length of the signature
	signature []byte
}

// made returns when the proof was made.
func (p *proof) made() time.Time { return time.Unix(0, p.nanos).UTC() }

// parseProof reads a proof, which it keeps parts of.
//
//   - Errors: ErrDamaged.
func parseProof(data []byte) (p *proof, err error) {
	if len(data) < headBytes || len(data) > directory.MaxProofBytes || data[0] != proofVersion {
		return nil, ErrDamaged
	}
	p = &proof{algorithm: data[1], nanos: int64(binary.BigEndian.Uint64(data[2:]))} // a time before 1970 is refused below
	count := int(data[10])
	if algorithms[p.algorithm] == 0 || p.nanos <= 0 || count == 0 || count > maxCertificates {
		return nil, ErrDamaged
	}
	rest := data[headBytes:]
	var ok bool
	for range count {
		var der []byte
		if der, rest, ok = cut(rest); !ok {
			return nil, ErrDamaged
		}
		p.chain = append(p.chain, der)
	}
	p.signed = data[:len(data)-len(rest)]
	if p.signature, rest, ok = cut(rest); !ok || len(rest) > 0 {
		return nil, ErrDamaged
	}
	return p, nil
}

// cut returns what stands behind a length of two bytes, and the rest.
func cut(data []byte) (part, rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, nil, false
	}
	n := 2 + int(binary.BigEndian.Uint16(data))
	if n > len(data) {
		return nil, nil, false
	}
	return data[2:n:n], data[n:], true
}

// certificates returns the certificates.
//
//   - Errors: ErrDamaged, wrapped.
func (p *proof) certificates() ([]*x509.Certificate, error) {
	all := make([]*x509.Certificate, len(p.chain))
	for i, der := range p.chain {
		var err error
		if all[i], err = x509.ParseCertificate(der); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return all, nil
}

// check reports whether the owner of a certificate has signed an entry.
//
//   - Errors: ErrSignature.
func (p *proof) check(leaf *x509.Certificate, e *directory.Entry) error {
	if leaf.CheckSignature(algorithms[p.algorithm], statement(p.signed, e), p.signature) != nil {
		return ErrSignature
	}
	return nil
}

// statement returns what is signed.
func statement(signed []byte, e *directory.Entry) []byte {
	all := make([]byte, 0, len(signed)+1024)
	all = append(all, signed...)
	add := func(text string) { all = append(binary.AppendUvarint(all, uint64(len(text))), text...) }
	number := func(n int64) { add(strconv.FormatInt(n, 10)) }
	add(e.Instance)
	add(e.Name)
	add(e.Host)
	number(int64(e.PID))
	add(string(e.Role))
	add(e.Backend)
	number(int64(len(e.Addresses)))
	for _, a := range e.Addresses {
		add(a.String())
	}
	set, err := e.Tags.MarshalBinary()
	if err != nil { // it is always nil
		panic(err)
	}
	add(string(set))
	number(int64(e.PageBytes))
	number(int64(e.MaxMessageBytes))
	since := int64(0)
	if !e.Since.IsZero() {
		since = e.Since.UnixNano()
	}
	number(since)
	monitor := ""
	if e.Monitor.IsValid() {
		monitor = e.Monitor.String()
	}
	add(monitor)
	sum := sha256.Sum256(all)
	return append([]byte(domain), sum[:]...)
}

// waysStatement returns what is signed of the ways of an entry: with the whole proof, so that the ways of
// another one, or of an earlier announcement, do not fit.
func waysStatement(e *directory.Entry) []byte {
	all := make([]byte, 0, len(e.Proof)+256)
	add := func(text string) { all = append(binary.AppendUvarint(all, uint64(len(text))), text...) }
	add(string(e.Proof))
	for _, way := range e.Ways {
		add(way.Backend)
		add(strconv.Itoa(len(way.Addresses)))
		for _, a := range way.Addresses {
			add(a.String())
		}
	}
	sum := sha256.Sum256(all)
	return append([]byte(waysDomain), sum[:]...)
}

// checkWays reports whether the owner of a certificate has signed the ways of an entry, whose proof is
// checked.
//
//   - Errors: ErrWays.
func (p *proof) checkWays(leaf *x509.Certificate, e *directory.Entry) error {
	if len(e.Ways) > 0 && leaf.CheckSignature(algorithms[p.algorithm], waysStatement(e), e.WaysProof) != nil {
		return ErrWays
	}
	return nil
}

// sign puts the proofs of an entry into it.
//
//   - Errors: ErrNoRoom, ErrKey, wrapped; those of the key.
func sign(e *directory.Entry, pair *tls.Certificate, nanos int64) (err error) {
	e.WaysProof = nil
	if e.Proof, err = signEntry(e, pair, nanos); err == nil && len(e.Ways) > 0 {
		e.WaysProof, err = signText(pair, waysStatement(e))
	}
	return err
}

// signEntry returns the proof of an entry without its ways.
func signEntry(e *directory.Entry, pair *tls.Certificate, nanos int64) ([]byte, error) {
	if len(pair.Certificate) == 0 || len(pair.Certificate) > maxCertificates {
		return nil, fmt.Errorf("%w: %d certificates, at most %d may be", ErrNoRoom, len(pair.Certificate), maxCertificates)
	}
	algorithm, _, err := optionsOf(pair)
	if err != nil {
		return nil, err
	}
	data := binary.BigEndian.AppendUint64([]byte{proofVersion, algorithm}, uint64(nanos)) // after 1970
	data = append(data, byte(len(pair.Certificate)))
	for _, der := range pair.Certificate {
		if len(der) > directory.MaxProofBytes {
			return nil, fmt.Errorf("%w: one has %d bytes", ErrNoRoom, len(der))
		}
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(der))), der...) // at most MaxProofBytes
	}
	signature, err := signText(pair, statement(data, e))
	if err != nil {
		return nil, err
	}
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(signature))), signature...) // some hundred bytes
	if len(data) > directory.MaxProofBytes {
		return nil, fmt.Errorf("%w: %d bytes with the signature, at most %d may be", ErrNoRoom, len(data), directory.MaxProofBytes)
	}
	return data, nil
}

// optionsOf returns how a key signs.
//
//   - Errors: ErrKey, wrapped.
func optionsOf(pair *tls.Certificate) (algorithm byte, options crypto.SignerOpts, err error) {
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return 0, nil, ErrKey
	}
	switch key.Public().(type) {
	case *ecdsa.PublicKey:
		return withECDSA, crypto.SHA256, nil
	case *rsa.PublicKey:
		return withRSA, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}, nil
	case ed25519.PublicKey:
		return withEd25519, crypto.Hash(0), nil
	}
	return 0, nil, fmt.Errorf("%w, got %T", ErrKey, key.Public())
}

// signText returns the signature of a text.
//
//   - Errors: ErrKey, wrapped; those of the key.
func signText(pair *tls.Certificate, text []byte) ([]byte, error) {
	_, options, err := optionsOf(pair)
	if err != nil {
		return nil, err
	}
	if options.HashFunc() != 0 {
		sum := sha256.Sum256(text)
		text = sum[:]
	}
	signature, err := pair.PrivateKey.(crypto.Signer).Sign(rand.Reader, text, options)
	if err != nil {
		return nil, fmt.Errorf("signed: the key cannot sign: %w", err)
	}
	return signature, nil
}
