// SPDX-License-Identifier: Apache-2.0

package lossfile

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"tagbus/internal/stuck"
)

// open opens a file to append to.
//
// O_NONBLOCK keeps a FIFO without reader from holding the writer for ever.
func open(path string) (io.WriteCloser, error) {
	file, err := stuck.OpenFileAside(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o644) // messages do not wait for it
	if err != nil {
		return nil, err
	}
	about, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w, %w", err, file.Close())
	}
	if !about.Mode().IsRegular() && about.Mode()&os.ModeCharDevice == 0 {
		_ = file.Close() // what is wrong is known
		return nil, &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is no file: %v", about.Mode().Type())}
	}
	return file, nil
}
