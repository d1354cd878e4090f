// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"os"
	"time"

	"tagbus/bus/state"
)

// standIn stands in until the real one is there.
func (p *Publisher) standIn(context.Context, state.Question) (state.State, error) {
	return state.State{
		Version: state.Version, Time: time.Now(), Role: state.Publisher, Instance: p.instance, Name: p.cfg.Name,
		Host: p.host, PID: os.Getpid(), Backend: p.backend.Name(), Connected: len(p.Stats().Subscribers),
	}, nil
}

// standIn stands in until the real one is there.
func (r *Receiver) standIn(context.Context, state.Question) (state.State, error) {
	return state.State{
		Version: state.Version, Time: time.Now(), Role: state.Receiver, Instance: r.sub.instance, Name: r.cfg.Name,
		Host: r.sub.host, PID: os.Getpid(), Backend: r.sub.backend.Name(), Connected: r.Stats().Publishers,
	}, nil
}
