package duration

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0s":           0,
		"90s":          90 * time.Second,
		"1h30m":        90 * time.Minute,
		"2d":           48 * time.Hour,
		"1w2d":         9 * 24 * time.Hour,
		"1.5d":         36 * time.Hour,
		"0.5w":         84 * time.Hour,
		"1d1d":         48 * time.Hour,
		"30m1h":        90 * time.Minute,
		"1d500ms":      24*time.Hour + 500*time.Millisecond,
		"100ns":        100,
		"1us2µs3μs":    6 * time.Microsecond,
		".5h":          30 * time.Minute,
		"007s":         7 * time.Second,
		"106751d":      106751 * 24 * time.Hour,
		"9223372036s":  9223372036 * time.Second,
		"15250w1d":     106751 * 24 * time.Hour,
		"1w1d1h1m1s":   8*24*time.Hour + time.Hour + time.Minute + time.Second,
		"106751d23h":   106751*24*time.Hour + 23*time.Hour,
		"0.000000001s": 1,
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", `the duration is empty; write for example "90s", "1h30m" or "2d"`},
		{" \t", `the duration is empty; write for example "90s", "1h30m" or "2d"`},
		{"5", `duration "5" has no unit; did you mean "5s"?`},
		{"1.5", `duration "1.5" has no unit; did you mean "1.5s"?`},
		{"0", `duration "0" has no unit; write "0s"`},
		{"00", `duration "00" has no unit; write "0s"`},
		{"1h30", `duration "1h30" has no unit; did you mean "1h30m"?`},
		{"2d12", `duration "2d12" has no unit; did you mean "2d12h"?`},
		{"-5m", `duration "-5m" has a sign; write "5m"`},
		{"+5m", `duration "+5m" has a sign; write "5m"`},
		{"-5", `duration "-5" has a sign; write "5s"`},
		{"1h-5m", `duration "1h-5m" has a sign; write "1h5m"`},
		{"1 h", `duration "1 h" has a blank; write "1h"`},
		{" 1h", `duration " 1h" has a blank; write "1h"`},
		{"5 minutes", `duration "5 minutes" has a blank; write "5m"`},
		{"1mo", `duration "1mo": months and years have no fixed length; write days, "30d"`},
		{"6months", `duration "6months": months and years have no fixed length; write days, "180d"`},
		{"1y", `duration "1y": months and years have no fixed length; write days, "365d"`},
		{"1M", `duration "1M": months and years have no fixed length; write days, "30d"; "m" is minutes`},
		{"1.5y", `duration "1.5y": months and years have no fixed length; write days`},
		{"1H", `duration "1H" has the unknown unit "H"; write "1h"`},
		{"1hour30min", `duration "1hour30min" has the unknown unit "hour"; write "1h30m"`},
		{"2Days", `duration "2Days" has the unknown unit "Days"; write "2d"`},
		{"1x", `duration "1x" has the unknown unit "x"; units are ms, s, m, h, d and w`},
		{"1hr2x", `duration "1hr2x" has the unknown unit "hr"; write for example "90s", "1h30m" or "2d"`},
		{"tomorrow", `duration "tomorrow" is not a number with a unit; write for example "90s", "1h30m" or "2d"`},
		{".", `duration "." is not a number with a unit; write for example "90s", "1h30m" or "2d"`},
		{"1.2.3s", `duration "1.2.3s" is not a number with a unit; write for example "90s", "1h30m" or "2d"`},
		{"h", `duration "h" is not a number with a unit; write for example "90s", "1h30m" or "2d"`},
		{"2562048h", `duration "2562048h" is too long; write at most "106751d" (292 years)`},
		{"106752d", `duration "106752d" is too long; write at most "106751d" (292 years)`},
		{"15251w", `duration "15251w" is too long; write at most "106751d" (292 years)`},
		{"106751d24h", `duration "106751d24h" is too long; write at most "106751d" (292 years)`},
		{"99999999999999999999d", `duration "99999999999999999999d" is too long; write at most "106751d" (292 years)`},
		{"1\n", `duration "1\n" has a blank; write "1s"`},
		{"\xff5s", `duration "\xff5s" is not a number with a unit; write for example "90s", "1h30m" or "2d"`},
	} {
		got, err := Parse(tt.text)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want the error %s", tt.text, got, tt.want)
			continue
		}
		if err.Error() != tt.want {
			t.Errorf("Parse(%q) says\n     %s\nwant %s", tt.text, err, tt.want)
		}
		var typed *Error
		if !errors.As(err, &typed) || typed.Text != tt.text {
			t.Errorf("Parse(%q): error %#v does not carry the text", tt.text, err)
		}
	}
}

func TestErrorIsShort(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("9", 5000) + "h", strings.Repeat("ä", 5000), "1" + strings.Repeat("x", 5000),
		strings.Repeat("1h ", 5000), "-" + strings.Repeat("5", 5000), strings.Repeat("1hr", 5000),
	} {
		_, err := Parse(text)
		if err == nil || len(err.Error()) > 250 {
			t.Errorf("Parse of %d bytes beginning with %.8q: error of %d bytes: %.300v", len(text), text, len(err.Error()), err)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                "0s",
		time.Second:                      "1s",
		90 * time.Second:                 "1m30s",
		time.Hour:                        "1h",
		time.Hour + time.Second:          "1h1s",
		36 * time.Hour:                   "1d12h",
		48 * time.Hour:                   "2d",
		7 * 24 * time.Hour:               "1w",
		9 * 24 * time.Hour:               "9d",
		90 * 24 * time.Hour:              "90d",
		14 * 24 * time.Hour:              "2w",
		1500 * time.Millisecond:          "1.5s",
		time.Minute + time.Millisecond:   "1m1ms",
		250 * time.Microsecond:           "250us",
		1:                                "1ns",
		-90 * time.Second:                "-1m30s",
		math.MaxInt64:                    "106751d23h47m16.854775807s",
		math.MinInt64:                    "-106751d23h47m16.854775808s",
		time.Duration(106751) * Day:      "106751d",
		time.Duration(15250) * Week:      "15250w",
		59*time.Second + time.Nanosecond: "59.000000001s",
	} {
		if got := Format(d); got != want {
			t.Errorf("Format(%d) = %q, want %q", d, got, want)
		}
		if d < 0 {
			continue
		}
		if back, err := Parse(want); err != nil || back != d {
			t.Errorf("Parse(%q) = %v, %v; want %v", want, back, err, d)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"90s", "1h30m", "2d", "1w2d", "5", "-1h", "1mo", "1.5d", "µs", "9999999999w", "1hr", ""} {
		f.Add(text, int64(0))
	}
	f.Add("1d", int64(math.MaxInt64))
	f.Add("1d", int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, n int64) {
		d, err := Parse(text)
		switch {
		case err != nil:
			var typed *Error
			if !errors.As(err, &typed) || typed.Hint == "" || typed.Message == "" {
				t.Fatalf("Parse(%q): unhelpful error %#v", text, err)
			}
		case d < 0:
			t.Fatalf("Parse(%q) = %d, below zero", text, d)
		default:
			roundTrip(t, d)
		}
		if n >= 0 {
			roundTrip(t, time.Duration(n))
		} else if !strings.HasPrefix(Format(time.Duration(n)), "-") {
			t.Fatalf("Format(%d) = %q", n, Format(time.Duration(n)))
		}
	})
}

func roundTrip(t *testing.T, d time.Duration) {
	t.Helper()
	if back, err := Parse(Format(d)); err != nil || back != d {
		t.Fatalf("Parse(Format(%d) = %q) = %d, %v", d, Format(d), back, err)
	}
}
