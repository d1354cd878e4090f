// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"tagbus/bench/internal/load"
	"tagbus/recording"
)

const (
	// lookInterval is the time between two looks at the size of the file.
	lookInterval = 2 * time.Millisecond

	// quietTime is how long the file does not grow when all is recorded.
	quietTime = 400 * time.Millisecond

	// lateTime is how long before that the first end message came at most.
	lateTime = 200 * time.Millisecond
)

// summary is what the command says at its end.
type summary struct {
	Whole bool
	Error string
}

// recordByCommand has the messages recorded by tagbus record, which knows nothing of this
// benchmark: it is interrupted when its file grows no longer. The last message counts as
// received when it was, or when the file has grown last: what is later.
func recordByCommand(o load.Options) {
	folder, err := os.MkdirTemp(memoryDisk, "bench")
	load.Must(err)
	path := filepath.Join(folder, "run.tbr")
	command, said := startCommand(o, path)
	before := load.ProcessCPU(command.Process.Pid)
	load.Ready()
	grown := awaitQuiet(path)
	load.Must(command.Process.Signal(os.Interrupt))
	var s summary
	load.Must(said.Decode(&s))
	err = command.Wait()
	file, failed := os.Open(path)
	load.Must(errors.Join(failed, os.RemoveAll(folder)))
	if err != nil || !s.Whole {
		load.Fail(fmt.Errorf("tagbus record: %s", s.Error))
	}
	result := tally(o, file, grown)
	result.CPU = (command.ProcessState.UserTime() + command.ProcessState.SystemTime() - before).Seconds()
	result.Report()
	select {} // until the runner ends it
}

// startCommand starts the command, and returns when it has subscribed. The system ends it
// with this process.
func startCommand(o load.Options, path string) (*exec.Cmd, *json.Decoder) {
	runtime.LockOSThread() // it would end with this thread
	// A block that is not full stays in memory, so that the file grows only by messages.
	command := exec.Command(commandPath(), "record", wanted(o).String(), path, "--bus="+o.Addr, "--json", "--flush-every=1h")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	load.Must(err)
	log, err := command.StderrPipe()
	load.Must(err)
	load.Must(command.Start())
	lines, all := bufio.NewScanner(log), []string(nil)
	lines.Buffer(nil, 16<<20) // of all tags
	for !strings.Contains(lines.Text(), ": subscribed ") {
		if !lines.Scan() {
			load.Fail(fmt.Errorf("tagbus record: %s", strings.Join(all, "\n")))
		}
		all = append(all, lines.Text())
	}
	go func() {
		for lines.Scan() { // so that it is not held up by a full pipe
		}
	}()
	return command, json.NewDecoder(out)
}

// awaitQuiet waits until the file has grown and grows no longer, and returns when it has
// grown last.
func awaitQuiet(path string) (grown int64) {
	size := int64(0)
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for range tick.C {
		info, err := os.Stat(path)
		load.Must(err)
		if now := load.Now(); info.Size() != size {
			size, grown = info.Size(), now
		} else if size >= blockBytes && now-grown > int64(quietTime) {
			break
		}
	}
	return grown
}

// tally says what was received: by the totals of the file and the messages at its end, or
// by all of them.
func tally(o load.Options, file *os.File, grown int64) load.SubResult {
	info, err := file.Stat()
	load.Must(err)
	r, err := recording.NewReader(file, info.Size(), recording.ReaderConfig{})
	load.Must(err)
	result := load.SubResult{Received: r.Info().Messages, LastNS: grown}
	clock := time.Now().UnixNano() - load.Now()
	for m, err := range r.Messages(recording.Query{From: time.Unix(0, grown+clock).Add(-lateTime)}) {
		load.Must(err)
		if load.IsEnd(m.Data) {
			result.Received--
		} else {
			result.LastNS = max(result.LastNS, m.Time.UnixNano()-clock)
		}
	}
	if o.ReadBack {
		last := result.LastNS
		result = readBack(o, file, info.Size())
		result.LastNS = last
	}
	result.Role = load.RoleSub
	result.Extra = map[string]float64{load.FileBytes: float64(info.Size()) / float64(result.Received)}
	return result
}
