//go:build chaos

package clock

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// OffsetFile names the variable that holds the path of a file with a number of
// seconds: by so much this process' clock goes wrong, for as long as it stands there.
const OffsetFile = "BIDE_CLOCK_OFFSET_FILE"

var offset atomic.Int64 // seconds

func init() {
	path := os.Getenv(OffsetFile)
	if path == "" {
		return
	}
	read := func() {
		text, _ := os.ReadFile(path) // not there: no offset
		seconds, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		offset.Store(seconds)
	}
	read()
	go func() {
		for range time.Tick(50 * time.Millisecond) {
			read()
		}
	}()
}

// Now is this machine's time, wrong by the offset. Its monotonic reading is right, as
// it is after a real step of the clock: that is why the wall part alone is changed,
// which package time does not offer.
func Now() time.Time { return step(time.Now(), offset.Load()) }

// step moves the wall clock of t by seconds and leaves its monotonic reading alone. A
// time with such a reading begins with a word of one flag bit, 33 bits of seconds and
// 30 bits of nanoseconds.
func step(t time.Time, seconds int64) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(seconds << 30)
	return t
}
