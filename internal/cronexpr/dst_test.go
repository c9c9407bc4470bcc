package cronexpr

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClockChanges(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text, zone string
		want       []string
	}{
		{"30 2 * * *", "UTC", nil},
		{"30 2 * * *", "Europe/Berlin", []string{
			"2027-03-28T03:00:00+02:00 true the clocks go from 02:00 to 03:00 on 2027-03-28 in Europe/Berlin; 02:30 does not exist: it runs once at 03:00",
			"2027-10-31T02:00:00+01:00 true the clocks go from 03:00 to 02:00 on 2027-10-31 in Europe/Berlin; 02:30 happens twice: it runs the first time only",
		}},
		{"0 */2 * * *", "Europe/Berlin", []string{
			"2027-03-28T03:00:00+02:00 true the clocks go from 02:00 to 03:00 on 2027-03-28 in Europe/Berlin; 02:00 does not exist: it does not run",
			"2027-10-31T02:00:00+01:00 true the clocks go from 03:00 to 02:00 on 2027-10-31 in Europe/Berlin; 02:00 happens twice: it runs both times",
		}},
		{"*/5 * * * *", "Europe/Berlin", []string{
			"2027-03-28T03:00:00+02:00 false the clocks go from 02:00 to 03:00 on 2027-03-28 in Europe/Berlin; it goes on without a break",
			"2027-10-31T02:00:00+01:00 false the clocks go from 03:00 to 02:00 on 2027-10-31 in Europe/Berlin; it goes on without a break",
		}},
		{"30 3 * * *", "Europe/Berlin", []string{
			"2027-03-28T03:00:00+02:00 false the clocks go from 02:00 to 03:00 on 2027-03-28 in Europe/Berlin; no run is skipped or repeated",
			"2027-10-31T02:00:00+01:00 false the clocks go from 03:00 to 02:00 on 2027-10-31 in Europe/Berlin; no run is skipped or repeated",
		}},
		{"@every 10m", "Europe/Berlin", []string{
			"2027-03-28T03:00:00+02:00 false the clocks go from 02:00 to 03:00 on 2027-03-28 in Europe/Berlin; it counts on in real time",
			"2027-10-31T02:00:00+01:00 false the clocks go from 03:00 to 02:00 on 2027-10-31 in Europe/Berlin; it counts on in real time",
		}},
	} {
		e, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range e.ClockChanges(loadZone(t, tt.zone), from, from.AddDate(1, 0, 0)) {
			touched := " false "
			if c.Touched {
				touched = " true "
			}
			got = append(got, c.At.Format(time.RFC3339)+touched+c.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q in %s (-want +got)\n%s", tt.text, tt.zone, diff)
		}
	}
}
