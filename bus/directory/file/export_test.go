// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"strconv"
	"time"

	"tagbus/bus/directory"
)

// BeatBytes is the length of the beat line.
const BeatBytes = beatBytes

// Process is for files of other processes.
type Process = process

// ThisProcess returns the calling process.
func ThisProcess() Process { return thisProcess() }

// Ended reports whether p has certainly ended.
func Ended(p Process) bool { return p.ended() }

// Encode returns a whole file.
func Encode(e directory.Entry, revision uint32, beat time.Duration, p Process, count uint64) ([]byte, error) {
	r := &record{entry: e, revision: revision, beat: beat, process: p}
	body, err := r.encode()
	return appendBeat(body, count, revision, r.sum), err
}

// Decoded is what a file says.
type Decoded struct {
	Entry    directory.Entry
	Revision uint32
	Beat     time.Duration
	Process  Process
	Count    uint64
}

// Decode reads a whole file.
func Decode(data []byte, maxTagParts int) (Decoded, error) {
	r, count, err := decode(data, maxTagParts)
	if err != nil {
		return Decoded{}, err
	}
	return Decoded{r.entry, r.revision, r.beat, r.process, count}, nil
}

// WithFaults returns c with a function that can fail each step of writing.
func (c Config) WithFaults(inject func(step string) error) Config {
	c.faults.inject = inject
	return c
}

// WithPauses returns c with a function that is called at each step, and may not return.
func (c Config) WithPauses(pause func(step string)) Config {
	c.faults.pause = pause
	return c
}

// Crash ends the goroutines and leaves the files, as kill -9 does.
func (d *Directory) Crash() {
	d.mu.Lock()
	clear(d.publications)
	d.mu.Unlock()
	_ = d.Close()
}

// Beat renews everything that is announced, now.
func (d *Directory) Beat() { d.renewAll() }

// Scan looks at the folder, now.
func (d *Directory) Scan() { d.scan.all() }

// ProcessOf returns the process with an id, in the namespaces of this one.
func ProcessOf(pid int) (p Process, ok bool) {
	p = thisProcess()
	now, ok := readStat(strconv.Itoa(pid))
	p.PID, p.Start = now.pid, now.start
	return p, ok
}

// Lives follows processes.
type Lives struct{ lives lives }

// NewLives returns one that follows none.
func NewLives() *Lives { return &Lives{} }

// Limit sets how many processes are followed at most.
func (l *Lives) Limit(n int) { l.lives.most = n }

// Ended follows p, and reports whether it has ended.
func (l *Lives) Ended(p Process) bool { return l.lives.ended(p, true) }

// Ask, Follows, Sweep and Close are those of lives, and Len is how many are followed.
func (l *Lives) Ask() bool              { return l.lives.ask() }
func (l *Lives) Follows(p Process) bool { return l.lives.follows(p) }
func (l *Lives) Sweep()                 { l.lives.sweep() }
func (l *Lives) Close()                 { l.lives.close() }
func (l *Lives) Len() int               { return len(l.lives.known) }

// SetMaxClients sets how many clients are looked at, until restore.
func SetMaxClients(n int) (restore func()) {
	before := maxClients
	maxClients = n
	return func() { maxClients = before }
}

// FileError explains why a file in the folder is skipped.
func FileError(path string, err error) error { return fileError(path, err) }
