// SPDX-License-Identifier: Apache-2.0

package member

import (
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Log returns what etcd is given to say things with, and what is behind it.
func Log(to *slog.Logger, fatal func(error)) (*zap.Logger, zapcore.Core) {
	c := newCore(to, fatal)
	return c.logger(), c
}
