// SPDX-License-Identifier: Apache-2.0

package member

import (
	"log/slog"
	"net"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc"

	"tagbus/directory/etcd/internal/door"
)

// Log returns what etcd is given to say things with, and what is behind it.
func Log(to *slog.Logger, fatal func(error)) (*zap.Logger, zapcore.Core) {
	c := newCore(to, fatal)
	return c.logger(), c
}

// OnExit makes exit be called where the process would end, until restore.
func OnExit(to func(status int)) (restore func()) {
	before := exit
	exit = to
	return func() { exit = before }
}

// ServeEarly serves clients at a port with a server that etcd has made before the door is open.
func ServeEarly(l net.Listener, server *grpc.Server) (end func() error, err error) {
	roster, err := door.NewRoster(nil, nil, nil, func() []string { return nil })
	if err != nil {
		return nil, err
	}
	m := new(Member)
	m.serveClients(server)
	d, err := door.Open(door.Config{Listener: l, Roster: roster, Split: true, Most: 8})
	if err != nil {
		return nil, err
	}
	m.letIn(d)
	return m.front.close, nil
}

// WebServer is webServer.
var WebServer = webServer

// Methods returns those of all services that clients reach, as gRPC names them, and which of
// them are streams.
func (m *Member) Methods() map[string]bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	methods := make(map[string]bool)
	for name, service := range m.servers[0].GetServiceInfo() {
		for _, method := range service.Methods {
			methods["/"+name+"/"+method.Name] = method.IsClientStream || method.IsServerStream
		}
	}
	return methods
}
