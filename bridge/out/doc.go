// SPDX-License-Identifier: Apache-2.0

// Package out writes the messages of a bus into a durable log, each once, and what is missing in its place.
//
//	b, err := out.Start(ctx, node, log, out.Config{Tags: tags.Of(0x1000)})
//	if err != nil {
//		return err
//	}
//	<-ctx.Done()
//	return b.Close(closing)
//
// A bridge is a subscriber like any other: its policy says what publishers do when the log is slow or
// away for so long that Config.HeldBytes wait for it. What they lose then is a Lost record in the log, as is
// what was published while no bridge ran. Package record has the format.
package out
