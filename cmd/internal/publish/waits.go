// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"

	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// What the command waits for before it publishes: its input, and subscribers.

// openSource opens the source; false means that it could not, or that ctx ended
// first: a FIFO without a writer never opens, and the header of a capture may never come.
func (r *run) openSource(ctx context.Context) (opened bool, err error) {
	done := stuck.Go(func() (source, error) { return newSource(r.flags, r.stdin, r.console.Say) })
	select {
	case got := <-done:
		r.source = got.Value
		return got.Err == nil, got.Err
	case <-ctx.Done():
		return false, errors.Join(r.end(context.Cause(ctx)), r.shortcoming(), r.inputAway())
	}
}

// unopened says what was not there when the time was over.
func (r *run) unopened() string {
	if r.flags.Emulate != nil {
		return "it was over before the first message"
	}
	return "its input " + r.flags.Input + " was not open by then: a pipe opens when its writer does, and a capture with its header"
}

// inputAway returns an error if the input is waited for because its file system does not answer:
// what is still in it is not published.
func (r *run) inputAway() error {
	if r.flags.Emulate != nil || !stuck.IsLate(r.flags.Input) {
		return nil
	}
	return fmt.Errorf("%s: its file system does not answer: what is left in it is not published", r.flags.Input)
}

// waitSubscribers waits for the subscribers that the flags ask for.
//
//   - Errors: the cause of the end of ctx; that of deserted.
func (r *run) waitSubscribers(ctx context.Context) error {
	w := session.Waiting{
		Subscribers: r.flags.WaitSubscribers, Tags: r.flags.Tags, Within: r.flags.WaitTime, Live: r.live, SoFar: r.audience.SoFar, Late: r.deserted,
	}
	return w.Wait(ctx, r.console, r.producer)
}

// deserted says what to do about subscribers that do not come.
func (r *run) deserted(what string, came int) error {
	text := fmt.Sprintf("nothing is published: %s did not come in %v (--wait-time), %d did", what, r.flags.WaitTime, came)
	if refused := r.audience.Refused.Load(); refused > 0 {
		text += fmt.Sprintf(", and %s refused, for the reasons above", units.FormatNumber(refused, "time"))
	}
	return fmt.Errorf("%s: start one, such as tagbus sub --bus %s %v, or publish all the same with --wait 0", text, sanitize.Text(r.flags.Bus), r.flags.Tags)
}
