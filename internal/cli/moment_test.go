package cli

import (
	"testing"
	"time"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, zone, want string }{
		{"2026-03-01", "Europe/Berlin", "2026-02-28T23:00:00Z"},
		{"2026-03-01 12:00", "Europe/Berlin", "2026-03-01T11:00:00Z"},
		{"2026-07-01T12:00:30", "Europe/Berlin", "2026-07-01T10:00:30Z"},
		{"2026-07-01T12:00", "UTC", "2026-07-01T12:00:00Z"},
		{"2026-07-01 12:00:30", "Pacific/Kiritimati", "2026-06-30T22:00:30Z"},
		{"2026-07-01 12:00", "Pacific/Pago_Pago", "2026-07-01T23:00:00Z"},
		{"2026-03-01T12:00:00+05:00", "Europe/Berlin", "2026-03-01T07:00:00Z"},
		// skipped: as if the clocks had not gone forward; shown twice: the first time
		{"2026-03-29 01:59", "Europe/Berlin", "2026-03-29T00:59:00Z"},
		{"2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00Z"},
		{"2026-03-29 03:00", "Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"},
		{"2026-10-25 03:00", "Europe/Berlin", "2026-10-25T02:00:00Z"},
		{"2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"},
	} {
		v := &values{}
		m := v.moment(value{tt.text, "--from"})
		loc, err := time.LoadLocation(tt.zone)
		if err != nil || v.bad != nil {
			t.Fatal(err, v.bad)
		}
		if got := m.in(loc).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("%s in %s = %s, want %s", tt.text, tt.zone, got, tt.want)
		}
	}
	for _, text := range []string{"", "now", "2026-03", "2026-02-30", "12:00", "2026-03-01 25:00", "2026-03-01 12:00 +01:00", "1772323200"} {
		v := &values{}
		if m := v.moment(value{text, "--from"}); v.bad == nil {
			t.Errorf("%q is taken for %v", text, m.at)
		}
	}
}
