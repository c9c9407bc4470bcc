package scripts

import (
	"math"
	"strconv"
	"time"
)

// Replies of scripts are strings, integers and lists of them. These functions read
// them without failing: what is absent is the zero value, which no script sends.

func toInt(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			f, _ := strconv.ParseFloat(v, 64)
			return int64(f)
		}
		return n
	}
	return 0
}

// Millis reads text of unix ms; what is none is 0.
func Millis(text string) int64 { return toInt(text) }

func toText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func toList(v any) []any {
	list, _ := v.([]any)
	return list
}

// item returns the i-th element of a list reply, nil beyond its end.
func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// toTime reads unix milliseconds; absent, empty or 0 is the zero time.
func toTime(v any) time.Time {
	ms := toInt(v)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// ceilMilli rounds up, so that nothing that waits d or until t is early by a
// fraction of a millisecond.
func ceilMilli(d time.Duration) int64 {
	ms := d / time.Millisecond
	// The longest span is cut instead: a millisecond more would be read as negative.
	if d%time.Millisecond > 0 && ms < math.MaxInt64/time.Millisecond {
		ms++
	}
	return int64(ms)
}

func ceilUnixMilli(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) > 0 {
		ms++
	}
	return ms
}
