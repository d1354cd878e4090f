// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"sync"
	"time"

	"tagbus/bus/state"
	"tagbus/internal/build"
)

// process is what the server says of the program.
//
// Threads: any.
type process struct {
	about state.Process // what does not change

	mu        sync.Mutex // held for some steps only
	instances []func(context.Context, state.Question) (state.State, error)
}

func newProcess(program string) *process {
	host, _ := os.Hostname() // without one it is left out
	p := &process{about: state.Process{Version: state.Version, Command: program, Host: host, PID: os.Getpid(), Since: time.Now()}}
	p.about.Program, p.about.Go = build.Version()
	return p
}

// state returns the state of the program and of its instances.
func (p *process) state(ctx context.Context, q state.Question) (state.Process, error) {
	p.mu.Lock()
	instances := p.instances
	p.mu.Unlock()
	answer := p.about
	for _, ask := range instances {
		s, err := ask(ctx, q)
		if err != nil {
			return state.Process{}, err
		}
		answer.Instances = append(answer.Instances, s)
	}
	answer.Time = time.Now()
	answer.Uptime = answer.Time.Sub(answer.Since).Seconds()
	return answer, nil
}

// Show adds an instance of the program to what /api/v1/state says.
//
//   - ask: its method State.
func (s *MetricsServer) Show(ask func(context.Context, state.Question) (state.State, error)) {
	if s == nil {
		return
	}
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	s.process.instances = append(s.process.instances, ask)
}
