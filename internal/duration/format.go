package duration

import (
	"strconv"
	"strings"
	"time"
)

// Format writes d so that [Parse] reads the same value back, without parts that
// are zero: "1m30s", "2d", "0s". Whole weeks are written in weeks, everything
// else in days and less ("9d", "90d12h"). Only a negative d, which Parse
// refuses, does not come back.
func Format(d time.Duration) string {
	if d < 0 {
		// Through unsigned numbers: the smallest Duration has no positive twin.
		return "-" + format(-uint64(d))
	}
	return format(uint64(d))
}

func format(d uint64) string {
	if d == 0 {
		return "0s"
	}
	if d%uint64(Week) == 0 {
		return strconv.FormatUint(d/uint64(Week), 10) + "w"
	}
	var b strings.Builder
	for _, u := range []struct {
		name   string
		length time.Duration
	}{{"d", Day}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := d / uint64(u.length); n > 0 {
			b.WriteString(strconv.FormatUint(n, 10))
			b.WriteString(u.name)
			d %= uint64(u.length)
		}
	}
	if d > 0 {
		// Below a minute package time's own text is as short as it gets. Its µ is
		// written as u: plain ASCII survives every terminal and log.
		b.WriteString(strings.Replace(time.Duration(d).String(), "µ", "u", 1))
	}
	return b.String()
}
