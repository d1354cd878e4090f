// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"

	"tagbus/bus/directory"
)

// Directory is a directory.Directory on servers of etcd. Open makes one; it must not be
// copied, and must be closed.
//
// Threads: any, for all methods.
type Directory struct{}

var _ directory.Opened = (*Directory)(nil)

// Open returns the directory that config names. It does not wait for the servers.
//
//   - Errors: those of Config.Validate.
//   - Threads: any. Blocks: never.
func Open(config Config) (*Directory, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Directory{}, nil
}

var errSkeleton = errors.New("skeleton")

// Announce adds e.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	return nil, errSkeleton
}

// Watch reports the entries that are there and all that follows.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	return nil, errSkeleton
}

// List looks once.
func (d *Directory) List() ([]directory.Entry, error) { return nil, errSkeleton }

// Close withdraws what was announced.
func (d *Directory) Close() error { return nil }
