// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pki"
)

// TestClientCertificate is that of the files now, and the last one while they cannot be used.
func TestClientCertificate(t *testing.T) {
	dir := t.TempDir()
	ca := pki.NewCA(t, "CA")
	write := func(name, mark string) (cert, key string) {
		c := ca.Issue(t, name)
		return pki.Write(t, dir, "own.pem", append([]byte(mark), pki.PEM(c)...)), pki.Write(t, dir, "own.key", append([]byte(mark), c.KeyPEM(t)...))
	}
	cert, key := write("cn:first", "")
	show, err := ClientCertificate(cert, key)
	testkit.Must(t, err)
	wants := func(want string) {
		t.Helper()
		shown, err := show(nil)
		testkit.Must(t, err)
		if leaf, err := x509.ParseCertificate(shown.Certificate[0]); err != nil || leaf.Subject.CommonName != want {
			t.Errorf("got %v (%v), want %s", leaf.Subject, err, want)
		}
	}
	wants("first")
	write("cn:renewed", "\ufeff") // with the mark of an editor
	wants("renewed")
	testkit.Must(t, os.WriteFile(key, []byte("half"), 0o600))
	wants("renewed")

	pipe := filepath.Join(dir, "pipe") // as a file system that does not answer
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	testkit.Must(t, os.Rename(pipe, cert))
	began := time.Now()
	wants("renewed")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("took %v, want some seconds", took)
	}
	before := runtime.NumGoroutine()
	for range 3 {
		wants("renewed")
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("got %d goroutines more, want none: each leaves a thread behind", now-before)
	}
	for isWaitedFor(cert) { // by more than one, of which each is to end
		writer, err := os.OpenFile(cert, os.O_RDWR, 0)
		testkit.Must(t, err)
		_, err = writer.WriteString("no certificate")
		testkit.Must(t, err)
		testkit.Must(t, writer.Close())
		runtime.Gosched()
	}
}
