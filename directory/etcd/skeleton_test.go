// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	_ "github.com/google/go-cmp/cmp"
	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.etcd.io/etcd/client/v3"
	_ "go.etcd.io/etcd/server/v3/embed"
	_ "go.uber.org/goleak"
	_ "go.uber.org/zap"
	_ "google.golang.org/grpc"

	_ "tagbus/bus/directory/directorytest"
)
