// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wire_test

import (
	"bytes"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOver_aConnectionGoesOn while its packets come late, twice and in another order, and afterwards.
func TestOver_aConnectionGoesOn(t *testing.T) {
	if why := bed.Missing("ip"); why != "" {
		t.Skip(why)
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip("needs tunnels: ", err)
	}
	b, err := bed.New(t.TempDir())
	if err != nil && strings.Contains(err.Error(), "Operation not permitted") {
		t.Skip("needs the right to make network namespaces")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	echo := connect(t, b)
	echo(1000)
	w, err := wire.Over(b, wire.Config{Delay: 2 * time.Millisecond, Early: 25, Twice: 25})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 20 || w.Counts().Early == 0 || w.Counts().Twice == 0; i++ {
		echo(20_000)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	before := w.Counts()
	echo(1000)
	if got := w.Counts(); got != before || got.Delayed == 0 || got.Lost != 0 {
		t.Errorf("got %+v, and %+v later, want packets that were delayed, none that was lost and none later", before, got)
	}
	if again, err := wire.Over(b, wire.Config{}); err != nil {
		t.Errorf("a second wire: %v", err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// connect connects the hosts, and returns what sends bytes from one to the other and back.
func connect(t *testing.T, b *bed.Bed) (echo func(n int)) {
	t.Helper()
	var listener net.Listener
	err := b.B.Do(func() (err error) {
		listener, err = net.Listen("tcp", bed.AddressB+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	conn, err := b.A.Dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		_ = listener.Close()
		<-done
	})
	return func(n int) {
		t.Helper()
		sent, got := bytes.Repeat([]byte{byte(n), 1, 2, 3, 4}, n/5), make([]byte, n/5*5)
		written := make(chan error, 1)
		go func() {
			_, err := conn.Write(sent)
			written <- err
		}()
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("got %v, and equal is %t, want %d bytes back", err, bytes.Equal(got, sent), n)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}
