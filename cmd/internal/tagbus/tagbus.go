// SPDX-License-Identifier: Apache-2.0

// Package tagbus is the command tagbus: what it is asked for is in packages beside this one.
package tagbus

import "tagbus/cmd/internal/tool"

// Commands are those of tagbus, with the flags of all. Each is a struct with the flags of
// the command and two methods:
//
//	Check() error                               what is wrong with its flags together
//	Run(ctx context.Context, e *tool.Env) error
type Commands struct {
	tool.Flags
}
