// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"fmt"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/tags"
)

// BenchmarkWatch verifies 1,000 entries of 100 tags when a watch begins: of one process, and each with
// a certificate of its own.
func BenchmarkWatch(b *testing.B) {
	const entries = 1000
	x := newSite(b, everything)
	reader := x.as("cn:reader").store
	served := make([]tags.Tag, 100)
	for i := range served {
		served[i] = tags.Tag(16 * i)
	}
	for name, own := range map[string]bool{"one signer": false, "a signer each": true} {
		storage := memory.New()
		signer := x.as("cn:p").store
		for i := range entries {
			if own {
				signer = x.as(fmt.Sprintf("cn:p%d", i)).store
			}
			e := entry(b, directorytest.Entry(fmt.Sprintf("i%d", i), served...), signer.KeyPair(), time.Now().UnixNano())
			_, err := storage.Announce(e)
			must(b, err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				watchAll(b, x, storage, reader, entries)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/entries, "µs/entry")
		})
	}
}

// watchAll returns when a watcher has been told of all entries.
func watchAll(b *testing.B, x *site, storage directory.Directory, reader *identity.Store, entries int) {
	b.Helper()
	d := signed.Wrap(storage, signed.Config{Identity: reader, Access: x, KeepOpen: true})
	come := make(chan struct{}, entries)
	stop, err := d.Watch(func(e directory.Event) {
		if e.Kind == directory.Appeared {
			come <- struct{}{}
		}
	})
	must(b, err)
	for range entries {
		<-come
	}
	stop()
	must(b, d.Close())
}

// BenchmarkAnnounce is what a signature takes.
func BenchmarkAnnounce(b *testing.B) {
	x := newSite(b, everything)
	pair, e := x.as("cn:p").store.KeyPair(), directorytest.Entry("a", 1, 2, 3)
	for b.Loop() {
		if _, err := signed.Sign(e, pair, 1); err != nil {
			b.Fatal(err)
		}
	}
}
