// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// func Self() uint64
// The address of what the runtime knows of the goroutine.
TEXT ·Self(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET
