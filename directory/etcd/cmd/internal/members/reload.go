// SPDX-License-Identifier: Apache-2.0

package members

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"tagbus/directory/etcd/member"
	"tagbus/internal/stuck"
)

// rereads reports whether the member has files that SIGHUP makes it read again.
func (f *runFlags) rereads() bool { return f.Cert != "" || f.ACL != "" }

// reloading makes SIGHUP read the files of m again, until stop, which waits for a reading that
// runs, unless the file system does not answer it.
func (f *runFlags) reloading(m *member.Member, log *slog.Logger) (stop func()) {
	if !f.rereads() {
		return func() {}
	}
	hups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hups, syscall.SIGHUP)
	var readings sync.WaitGroup
	readings.Go(func() {
		defer signal.Stop(hups)
		for {
			select {
			case <-hups:
				reload(m, log)
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		stuck.Await(readings.Wait, append([]string{f.Cert, f.Key, f.CA, f.ACL}, f.Revoked...)...)
	}
}

// reload looks at the files because a person wants it, and says what is wrong even if that was
// said before.
func reload(m *member.Member, log *slog.Logger) {
	if err := m.Reload(); err != nil {
		log.Warn("SIGHUP: what was read before stays in use", "error", err)
		return
	}
	log.Info("SIGHUP: certificates and policy were read again")
}
