// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"time"

	"github.com/alecthomas/kong"
)

// wholeDuration matches what time.ParseDuration takes, however large it is.
var wholeDuration = regexp.MustCompile(`^[-+]?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)

// Durations reads times, and says what is wanted if one has no unit.
var Durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil && wholeDuration.MatchString(text) {
		return fmt.Errorf("got %q, want at most %v", text, time.Duration(math.MaxInt64).Truncate(time.Hour))
	}
	if err != nil {
		example := "90s or 1h30m"
		if _, err := time.ParseDuration(text + "s"); err == nil {
			example = text + "s or " + text + "ms"
		}
		return fmt.Errorf("got %q, want a time with its unit, for example %s", text, example)
	}
	target.Set(reflect.ValueOf(d))
	return nil
}))
