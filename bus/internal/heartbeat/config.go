// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"time"

	"tagbus/internal/validate"
)

// Of the interval and the timeout of a configuration. Either may be negative: off.
const (
	DefaultTimeout = 6 * time.Second

	defaultInterval = 2 * time.Second
	maxInterval     = time.Hour
)

// SetDefaults fills in the interval and the timeout of a configuration: each follows the other
// one if only that is set.
func SetDefaults(interval, timeout *time.Duration) {
	if *interval == 0 {
		*interval = defaultInterval
		if *timeout > 0 {
			*interval = max(time.Millisecond, min(*interval, *timeout/3))
		}
	}
	validate.Default(timeout, max(DefaultTimeout, 3*max(0, min(*interval, maxInterval))))
}

// Check adds what is wrong with the interval and the timeout of a configuration.
func Check(v *validate.Violations, interval, timeout time.Duration) {
	if interval >= 0 && (interval < time.Millisecond || interval > maxInterval) {
		v.Add("HeartbeatInterval is %v, want 1ms to %v, or HeartbeatsOff", interval, maxInterval)
	}
	if timeout > validate.MaxDuration {
		v.Add("HeartbeatTimeout is %v, want at most %v, or HeartbeatsOff", timeout, validate.MaxDuration)
	}
	if interval > 0 && interval <= maxInterval && timeout >= 0 && timeout/2 < interval {
		v.Add("HeartbeatTimeout is %v, want at least twice HeartbeatInterval, %v, or HeartbeatsOff", timeout, 2*interval)
	}
}
