package bus

import (
	"fmt"
	"strings"
)

// placeOfPanic returns the function and the line that panicked, from the stack
// that was taken where the panic was caught; "" if it does not say.
func placeOfPanic(stack []byte) string {
	_, below, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return ""
	}
	lines := strings.Split(below, "\n") // a function and its place in turn, from the rest of panic's own
	for i := 2; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "runtime.") { // how the runtime came to panic
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +")
		return fmt.Sprintf(" at %s (%s)", lines[i], place)
	}
	return ""
}
