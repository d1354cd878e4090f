// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // in which findings are compared
	goleak.VerifyTestMain(m)
}
