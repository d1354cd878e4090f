// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A request that does not arrive ends, and one that has arrived takes as long as it takes.
func TestRequestsArriveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, end := context.WithCancel(t.Context())
		began := time.Now()
		there, err := begin(parent, nil)
		if err != nil {
			t.Fatal(err)
		}
		late, err := begin(parent, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		arrived(there)
		arrived(t.Context()) // of a server without begin
		<-late.Done()
		if took := time.Since(began); took != patience {
			t.Errorf("a request on its way ended after %v, want %v", took, patience)
		}
		time.Sleep(time.Hour)
		if err := there.Err(); err != nil {
			t.Errorf("one that has arrived: got %v", err)
		}
		end()
		<-there.Done()
	})
}
