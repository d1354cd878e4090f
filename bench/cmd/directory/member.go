// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"tagbus/bench/internal/load"
	"tagbus/directory/etcd/member"
)

// serve is a member of etcd until standard input ends.
//
//   - way: its folder, a comma, and the addresses of the others with a plus in between.
func serve(listen, way string) error {
	folder, others, _ := strings.Cut(way, ",")
	config := member.Config{
		Data: folder, Listen: listen, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if others != "" {
		config.Join = strings.Split(others, "+")
	}
	m, err := member.Start(context.Background(), config)
	if err != nil {
		return err
	}
	if err := m.Wait(context.Background()); err != nil {
		return errors.Join(err, m.Close())
	}
	load.Listening(m.Clients())
	load.AwaitQuit()
	return m.Close()
}
