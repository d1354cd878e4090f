// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Stat is os.Stat with On; so are the other functions that are called as those of package os.
func Stat(path string) (fs.FileInfo, error) {
	defer On(path)()
	return os.Stat(path)
}

// Lstat is os.Lstat with On.
func Lstat(path string) (fs.FileInfo, error) {
	defer On(path)()
	return os.Lstat(path)
}

// ReadDir is os.ReadDir with On.
func ReadDir(path string) ([]fs.DirEntry, error) {
	defer On(path)()
	return os.ReadDir(path)
}

// MostBytes is how large a file may be that is read as a whole: certificates and settings,
// which have some kilobytes.
const MostBytes = 16 << 20

// ErrTooLarge is the cause of an error about a file that is read as a whole and has more than
// MostBytes: a device without an end, or another file than was meant.
var ErrTooLarge = errors.New("more than 16 MiB: this is another file")

// ReadFile is os.ReadFile with On, as Open.
//
//   - Errors: also ErrTooLarge, wrapped.
func ReadFile(path string) ([]byte, error) { return readFile(path, OpenFile) }

// Mkdir is os.Mkdir with On.
func Mkdir(path string, perm fs.FileMode) error {
	defer On(path)()
	return os.Mkdir(path, perm)
}

// MkdirAll is os.MkdirAll with On.
func MkdirAll(path string, perm fs.FileMode) error {
	defer On(path)()
	return os.MkdirAll(path, perm)
}

// Chmod is os.Chmod with On.
func Chmod(path string, mode fs.FileMode) error {
	defer On(path)()
	return os.Chmod(path, mode)
}

// Rename is os.Rename with On.
func Rename(from, to string) error {
	defer On(to)()
	return os.Rename(from, to)
}

// Link is os.Link with On.
func Link(from, to string) error {
	defer On(to)()
	return os.Link(from, to)
}

// Remove is os.Remove with On.
func Remove(path string) error {
	defer On(path)()
	return os.Remove(path)
}

// Glob is filepath.Glob with On.
func Glob(pattern string) ([]string, error) {
	defer On(pattern)()
	return filepath.Glob(pattern)
}

// EvalSymlinks is filepath.EvalSymlinks with On.
func EvalSymlinks(path string) (string, error) {
	defer On(path)()
	return filepath.EvalSymlinks(path)
}

// LoadX509KeyPair is tls.LoadX509KeyPair with On.
func LoadX509KeyPair(cert, key string) (tls.Certificate, error) {
	return loadPair(cert, key, OpenFile)
}

// LoadX509KeyPairAside is LoadX509KeyPair with Aside.
func LoadX509KeyPairAside(cert, key string) (tls.Certificate, error) {
	return loadPair(cert, key, OpenFileAside)
}

// ClientCertificate returns what shows the certificate that stands in files, as tls.Config.GetClientCertificate: one
// that is renewed needs no restart, and the last one is shown if they cannot be used, since they may be about to be
// replaced.
//
//   - Blocks: the result, for Patience, if their file system does not answer: the last one is shown then, and at once as
//     long as that lasts, or each connection that is tried would leave a thread behind.
func ClientCertificate(cert, key string) (func(*tls.CertificateRequestInfo) (*tls.Certificate, error), error) {
	first, err := LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&first)
	var reading atomic.Bool
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if reading.CompareAndSwap(false, true) {
			Await(func() {
				defer reading.Store(false)
				if pair, err := LoadX509KeyPairAside(cert, key); err == nil {
					last.Store(&pair)
				}
			})
		}
		return last.Load(), nil
	}, nil
}

func loadPair(cert, key string, open opener) (tls.Certificate, error) {
	certPEM, err := readFile(cert, open)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := readFile(key, open)
	if err != nil {
		return tls.Certificate{}, err
	}
	mark := []byte("\ufeff") // of some editors, which would hide the first certificate
	return tls.X509KeyPair(bytes.TrimPrefix(certPEM, mark), bytes.TrimPrefix(keyPEM, mark))
}

// opener is OpenFile or OpenFileAside.
type opener func(path string, flag int, perm fs.FileMode) (*File, error)

func readFile(path string, open opener) (data []byte, err error) {
	f, err := open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.ReadWhole()
}
