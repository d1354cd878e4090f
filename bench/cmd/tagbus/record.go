// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"time"

	"tagbus/bench/internal/load"
	"tagbus/bus"
)

// memoryDisk is the folder of recordings: a file there costs what the page cache costs,
// and waits for no device.
const memoryDisk = "/dev/shm"

// recorder is a subscriber that records what it receives and looks at nothing.
type recorder struct {
	format  format
	checker *load.Checker // of the end messages
	done    chan struct{}
	ended   bool
}

// record subscribes, records until the end, and reports. The last message counts as
// received when the file is complete.
func record(o load.Options) {
	if o.Record == "command" {
		recordByCommand(o)
	}
	file, err := os.CreateTemp(memoryDisk, "bench")
	load.Must(err)
	load.Must(os.Remove(file.Name())) // it lives until this process ends, however that does
	n := open(o, o.Addr)
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	load.Must(err)
	r := &recorder{format: newFormat(o, file), checker: load.NewChecker(o), done: make(chan struct{})}
	subscription, err := s.SubscribeBatch(wanted(o), r.take, bus.SubscriptionConfig{})
	load.Must(err)
	load.Must(subscription.Wait(context.Background()))
	profiled := load.Profile(o)
	before := load.ProcessCPU(os.Getpid())
	load.Ready()
	<-r.done
	r.format.close()
	last, used := load.Now(), load.ProcessCPU(os.Getpid())-before
	profiled()
	load.Must(n.Close())
	result := r.checker.Result()
	info, err := file.Stat()
	load.Must(err)
	if o.ReadBack && info.Size() > 0 {
		result = readBack(o, file, info.Size())
	}
	result.Role, result.LastNS, result.CPU = load.RoleSub, last, used.Seconds()
	if info.Size() > 0 {
		result.Extra = map[string]float64{load.FileBytes: float64(info.Size()) / float64(result.Received)}
	}
	result.Report()
}

// take records a page. Nothing is published after an end message except others, so one
// is last in its page.
func (r *recorder) take(page []bus.Message) {
	if r.ended {
		return
	}
	r.format.take(time.Now(), page)
	if !load.IsEnd(page[len(page)-1].Data) {
		r.checker.Count(len(page))
		return
	}
	for i := range page {
		if !load.IsEnd(page[i].Data) {
			r.checker.Count(1)
		} else if r.checker.Take(page[i].Data) {
			r.ended = true
			close(r.done)
			return
		}
	}
}
