// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

// links returns n tags, of which no two are neighbours: those of links with 4,096 numbers
// each, a thousandth of them missing.
func links(n int) tags.Set {
	list := make([]tags.Tag, 0, n)
	for i := tags.Tag(0); len(list) < n; i++ {
		if i%1009 != 17 {
			list = append(list, 0x1000013000000000+i>>12<<32+i&0xfff<<4)
		}
	}
	return tags.Of(list...)
}

// random returns n tags anywhere within 2^40.
func random(n int) tags.Set {
	numbers := rand.New(rand.NewPCG(1, 2))
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = 0x1000013000000000 + tags.Tag(numbers.Uint64N(1<<40))
	}
	return tags.Of(list...)
}

// BenchmarkForm compares an entry as a file of this package with the form of bus/directory/codec.
func BenchmarkForm(b *testing.B) {
	forms := []struct {
		name   string
		encode func(directory.Entry) ([]byte, error)
		decode func([]byte) (directory.Entry, error)
	}{
		{"text", func(e directory.Entry) ([]byte, error) {
			return file.Encode(e, 1, time.Second, file.Process{}, 1)
		}, func(data []byte) (directory.Entry, error) {
			d, err := file.Decode(data, maxTagParts)
			return d.Entry, err
		}},
		{"codec", func(e directory.Entry) ([]byte, error) { return codec.Append(nil, e) }, codec.Decode},
	}
	for _, set := range []struct {
		name string
		tags tags.Set
	}{{"100", links(100)}, {"100000", links(100_000)}, {"100000-random", random(100_000)}} {
		e := entry("Yr5WtNXHCZ3zXmCHsLzGTk")
		e.Tags = set.tags
		for _, form := range forms {
			data, err := form.encode(e)
			if err != nil {
				b.Fatal(err)
			}
			if got, err := form.decode(data); err != nil || !got.Equal(e) {
				b.Fatalf("%s: got another entry, %v", form.name, err)
			}
			b.Run(fmt.Sprintf("tags=%s/%s/write", set.name, form.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := form.encode(e); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(data)), "B/entry")
			})
			b.Run(fmt.Sprintf("tags=%s/%s/read", set.name, form.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := form.decode(data); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
