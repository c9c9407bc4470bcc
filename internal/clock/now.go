//go:build !chaos

package clock

import "time"

// Now is this machine's time, with its monotonic reading.
func Now() time.Time { return time.Now() }
