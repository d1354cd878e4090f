// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"tagbus/bench/internal/load"
	"tagbus/bus"
	"tagbus/recording"
)

// replaySummary is what tagbus replay says at its end.
type replaySummary struct {
	Messages uint64
	Seconds  float64
	Lost     uint64
	Late     struct {
		P50 float64 `json:"p50_seconds"`
		P99 float64 `json:"p99_seconds"`
		Max float64 `json:"max_seconds"`
	}
	Error string
}

// replay has the messages published by tagbus replay, from a recording that has them at a
// fixed rate. How late each one was is what the command says.
func replay(o load.Options) {
	folder, err := os.MkdirTemp(memoryDisk, "bench")
	load.Must(err)
	path := filepath.Join(folder, "run.tbr")
	total, err := makeRecording(o, path)
	load.Must(err)
	busFolder, err := os.MkdirTemp("", "bus")
	load.Must(err)
	runtime.LockOSThread() // the system ends the command with this thread
	command := exec.Command(commandPath(), "replay", path, "--bus="+busFolder, "--json", "--quiet")
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	load.Must(err)
	load.Must(command.Start())
	load.Listening(busFolder) // it begins when the subscriber is there
	load.AwaitGo()
	var s replaySummary
	load.Must(json.NewDecoder(out).Decode(&s))
	end := load.Now()
	load.Must(errors.Join(command.Wait(), os.RemoveAll(folder)))
	if s.Lost > 0 || s.Messages != total+1 {
		load.Fail(fmt.Errorf("tagbus replay: %d of %d messages, %d lost: %s", s.Messages, total+1, s.Lost, s.Error))
	}
	load.PubResult{
		Sent: total, StartNS: end - int64(s.Seconds*1e9), EndNS: end,
		CPU: (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds(),
		Latency: load.Histogram{
			Count: total, P50: nanoseconds(s.Late.P50), P99: nanoseconds(s.Late.P99), Max: nanoseconds(s.Late.Max),
		},
	}.Report()
	load.AwaitQuit()
}

// makeRecording makes a recording of all messages of a run and an end message, and returns
// how many messages are before that.
func makeRecording(o load.Options, path string) (total uint64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w, err := recording.NewWriter(file, recording.Header{Name: "bench"}, recording.Config{})
	if err != nil {
		return 0, err
	}
	total = uint64(o.Seconds * o.Rate)
	first, peer := time.Now(), &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "bench"}
	data := load.NewMessage(o.Size)
	for i := range total + 1 {
		lane, round := i%uint64(o.Tags), i/uint64(o.Tags)
		m := bus.Message{Tag: tag(int(lane)), Counter: round + 1, Publisher: peer, Data: data}
		if load.Stamp(data, round, uint32(lane), 0); i == total {
			load.Stamp(data, total, load.EndLane, 0)
		}
		if err := w.Append(first.Add(time.Duration(float64(i)*1e9/o.Rate)), &m); err != nil {
			return 0, err
		}
	}
	return total, errors.Join(w.Close(), file.Close())
}

func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }

// commandPath is where the runner has built the command of this project.
func commandPath() string {
	self, err := os.Executable()
	load.Must(err)
	return filepath.Join(filepath.Dir(self), "tagbus-command")
}
