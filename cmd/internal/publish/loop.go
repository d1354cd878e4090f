// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"io"

	"tagbus/cmd/internal/pace"
)

// checkEvery is the number of messages after which the publishing loop looks
// whether it is to stop.
const checkEvery = 64

// loop publishes; it is the one place where every message passes.
func (r *run) loop(ctx context.Context) error {
	var pacer *pace.Pacer
	if r.flags.Rate > 0 {
		pacer = pace.New(r.flags.Rate)
	}
	limit := uint64(r.flags.Count)
	for n := uint64(0); limit == 0 || n < limit; n++ {
		if pacer != nil {
			if err := pacer.Wait(ctx); err != nil {
				return err
			}
		}
		if n%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		tag, data, err := r.source.next()
		if err != nil {
			if err == io.EOF { //nolint:errorlint // next returns it bare
				return r.short(n, limit)
			}
			return err
		}
		if err := r.producer.publish(ctx, tag, data); err != nil {
			return err
		}
	}
	return nil
}

// short reports an input that ends before the count.
func (r *run) short(n, limit uint64) error {
	if limit == 0 {
		return nil
	}
	return fmt.Errorf("the input ended after %d of %d messages: use --loop to publish it again", n, limit)
}
