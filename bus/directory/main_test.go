// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"testing"

	"go.uber.org/goleak"

	"tagbus/bus/directory/directorytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Short names for what all tests of directories use.
var (
	entry       = directorytest.Entry
	newRecorder = directorytest.NewRecorder
	announce    = directorytest.Announce
	within      = directorytest.Within
)

const patience = directorytest.Patience
