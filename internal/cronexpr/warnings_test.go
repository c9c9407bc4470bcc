package cronexpr

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, zone string
		want       []string
	}{
		{"30 1 * * *", "UTC", nil},
		{"@daily", "Europe/Berlin", nil},
		{"@every 7m", "Europe/Berlin", nil},
		{"*/15 9-17 * * MON-FRI", "UTC", nil},

		{"0 0 13 * FRI", "UTC", []string{
			`W101 both day fields are restricted, so either is enough: day of month "13" or day of week "FRI"; put "*" in one of them if only the other is meant`,
		}},
		{"0 0 1-31 * 1", "UTC", []string{
			`W101 both day fields are restricted, so either is enough: day of month "1-31" or day of week "1"; together they are every day; put "*" in one of them if only the other is meant`,
		}},
		{"0 0 31 * MON", "UTC", []string{
			`W101 both day fields are restricted, so either is enough: day of month "31" or day of week "MON"; put "*" in one of them if only the other is meant`,
		}},

		{"* 5 * * *", "UTC", []string{`W102 "* 5 * * *" fires 60 times between 05:00 and 05:59; did you mean "0 5 * * *"?`}},
		{"*/1 5,17 * * *", "UTC", []string{`W102 "*/1 5,17 * * *" fires 60 times between 05:00 and 05:59, and as often in 1 hour more; did you mean "0 5,17 * * *"?`}},
		{"* 9-17 * * *", "UTC", nil},
		{"* * 5 * * *", "UTC", []string{
			`W102 "* * 5 * * *" fires 3600 times between 05:00 and 05:59:59; did you mean "0 0 5 * * *"?`,
			`W113 six fields: the first, "*", counts seconds; then come minute, hour, day of month, month, day of week`,
		}},
		{"* 30 5 * * *", "UTC", []string{
			`W102 "* 30 5 * * *" fires 60 times in one minute, such as 05:30 to 05:30:59; did you mean "0 30 5 * * *"?`,
			`W113 six fields: the first, "*", counts seconds; then come minute, hour, day of month, month, day of week`,
		}},

		{"*/7 * * * *", "UTC", []string{`W103 minute "*/7" restarts in every hour: after 56 comes 0, 4 minutes later instead of 7; for an even pace write "@every 7m"`}},
		{"*/90 * * * *", "UTC", []string{`W103 minute "*/90" restarts in every hour: after 0 comes 0, 60 minutes later instead of 90; for an even pace write "@every 1h30m"`}},
		{"*/7 9 * * *", "UTC", []string{`W103 minute "*/7" restarts in every hour: after 56 comes 0, 4 minutes later instead of 7`}},
		{"*/60 * * * *", "UTC", nil},
		{"5/15 * * * *", "UTC", nil},
		{"5/20,3 * * * *", "UTC", nil},
		{"10-30/7 * * * *", "UTC", nil},
		{"0 */5 * * *", "UTC", []string{`W103 hour "*/5" restarts in every day: after 20 comes 0, 4 hours later instead of 5; for an even pace write "@every 5h"`}},
		{"0 0-23/23 * * *", "UTC", []string{`W103 hour "0-23/23" restarts in every day: after 23 comes 0, 1 hour later instead of 23; for an even pace write "@every 23h"`}},
		{"0 0 */2 * *", "UTC", []string{`W103 day of month "*/2" restarts in every month: after 31 comes 1; for an even pace write "@every 2d"`}},
		{"0 0 1 */5 *", "UTC", []string{`W103 month "*/5" restarts in every year: after 11 comes 1, 2 months later instead of 5`}},
		{"0 0 1 */3 *", "UTC", nil},
		{"0 0 * * */2", "UTC", []string{`W103 day of week "*/2" restarts in every week: after 6 comes 0, 1 day later instead of 2; for an even pace write "@every 2d"`}},
		{"0 0 * * 1/2", "UTC", []string{`W103 day of week "1/2" restarts in every week: after 7 comes 1, 1 day later instead of 2; for an even pace write "@every 2d"`}},
		{"0 0 * * */7", "UTC", nil},

		{"30 2 * * *", "Europe/Berlin", []string{
			`W104 02:30 happens twice on 2025-10-26 and 2026-10-25 in Europe/Berlin, where the clocks go from 03:00 to 02:00: it runs the first time only; a time outside 02:00-03:00, or the zone UTC, avoids it`,
			`W104 02:30 does not exist on 2026-03-29 and 2027-03-28 in Europe/Berlin, where the clocks go from 02:00 to 03:00: it runs once at 03:00; a time outside 02:00-03:00, or the zone UTC, avoids it`,
		}},
		{"30 2 * * *", "UTC", nil},
		{"30 3 * * *", "Europe/Berlin", nil},
		{"0 3 * * *", "Europe/Berlin", nil},
		{"0 2 * * 1-6", "Europe/Berlin", nil},
		{"0 * * * *", "Europe/Berlin", nil},
		{"@hourly", "Europe/Berlin", nil},
		{"0,20,40,50 2 * 3 *", "Europe/Berlin", []string{
			`W104 02:00, 02:20, 02:40 and others do not exist on 2026-03-29 and 2027-03-28 in Europe/Berlin, where the clocks go from 02:00 to 03:00: it runs once at 03:00; a time outside 02:00-03:00, or the zone UTC, avoids it`,
		}},
		{"*/30 1-2 * 3 *", "Europe/Berlin", []string{
			`W104 02:00 and 02:30 do not exist on 2026-03-29 and 2027-03-28 in Europe/Berlin, where the clocks go from 02:00 to 03:00: it does not run; a time outside 02:00-03:00, or the zone UTC, avoids it`,
		}},
		{"0 */2 * 10 *", "Europe/Berlin", []string{
			`W104 02:00 happens twice on 2025-10-26 and 2026-10-25 in Europe/Berlin, where the clocks go from 03:00 to 02:00: it runs both times; a time outside 02:00-03:00, or the zone UTC, avoids it`,
		}},
		{"30 23 * * 6", "America/Nuuk", []string{
			`W104 23:30 happens twice on 2025-10-25 and 2026-10-24 in America/Nuuk, where the clocks go from 00:00 to 23:00: it runs the first time only; a time outside 23:00-00:00, or the zone UTC, avoids it`,
			`W104 23:30 does not exist on 2026-03-28 and 2027-03-27 in America/Nuuk, where the clocks go from 23:00 to 00:00: it runs once at 00:00 of the next day; a time outside 23:00-00:00, or the zone UTC, avoids it`,
		}},
		{"15 2 * 10 *", "Australia/Lord_Howe", []string{
			`W104 02:15 does not exist on 2025-10-05 and 2026-10-04 in Australia/Lord_Howe, where the clocks go from 02:00 to 02:30: it runs once at 02:30; a time outside 02:00-02:30, or the zone UTC, avoids it`,
		}},

		{"0 0 31 * *", "UTC", []string{`W105 day 31 leaves out February, April, June, September and November; days 1 to 28 are in every month`}},
		{"0 0 1,15,30 * *", "UTC", []string{`W105 day 30 leaves out February; days 1 to 28 are in every month`}},
		{"0 0 29 * *", "UTC", []string{`W105 day 29 leaves out February, except in leap years; days 1 to 28 are in every month`}},
		{"0 0 29 2 *", "UTC", []string{`W105 29 February is in leap years only`}},
		{"0 0 29-31 * *", "UTC", []string{`W105 day 29 leaves out February, except in leap years; days 1 to 28 are in every month`}},
		{"0 0 28-31 * *", "UTC", nil},
		{"0 0 31 1,3,5 *", "UTC", nil},
		{"0 0 29 3 *", "UTC", nil},

		{"0 30 1 * * *", "UTC", []string{`W113 six fields: the first, "0", counts seconds; then come minute, hour, day of month, month, day of week`}},
	} {
		e, err := Parse(tt.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.text, err)
			continue
		}
		var got []string
		for _, w := range e.Warnings(loadZone(t, tt.zone), time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)) {
			got = append(got, w.Code+" "+w.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q in %s (-want +got)\n%s", tt.text, tt.zone, diff)
		}
	}
}

func TestWarningsOfCorrections(t *testing.T) {
	t.Parallel()
	e, err := Parse("0 12 * * *")
	if err != nil {
		t.Fatal(err)
	}
	got := e.Warnings(loadZone(t, "Pacific/Apia"), time.Date(2011, 10, 1, 0, 0, 0, 0, time.UTC))
	want := []Warning{{
		Code:    WarnClockChange,
		Message: "12:00 does not exist on 2011-12-30 in Pacific/Apia, where the clocks go from 2011-12-30 00:00 to 2011-12-31 00:00: it does not run",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := e.Warnings(nil, time.Unix(1<<60, 0)); len(got) != 0 {
		t.Errorf("in the far future: %v", got)
	}
}
