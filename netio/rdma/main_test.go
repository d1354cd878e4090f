package rdma_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	beChild()
	goleak.VerifyTestMain(m)
}
