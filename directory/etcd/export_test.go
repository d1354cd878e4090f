// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"
)

// SetLimit sets how many entries are kept. d must not look yet.
func SetLimit(d *Directory, limit int) { d.look.shelf.limit = limit }

// CountEach sets how often entries are counted. d must have announced nothing yet.
func CountEach(d *Directory, each time.Duration) { d.countEach = each }

// The sizes of pages of lists.
const (
	PageKeys  = pageKeys
	PageBytes = pageBytes
	MaxBad    = maxBad
)

// NewClients returns a directory of clients with a lease of its own, as that of another process.
func (d *Directory) NewClients() *Directory { return d.newClients() }

// IsSlow reports whether the servers are slow, by an error.
var IsSlow = isSlow

// Explain returns what is told of an error of a request.
func Explain(err error) error {
	return (&servers{config: Config{Endpoints: []string{"server:2379"}}}).explain(context.Background(), err)
}
