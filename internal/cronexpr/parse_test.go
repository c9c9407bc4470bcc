package cronexpr

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		code string
		part string // the part of text that is marked
		want string // message and hint
	}{
		{"61 * * * *", "E010", "61", `minute "61" is out of range 0-59`},
		{"60 * * * *", "E010", "60", `minute "60" is out of range 0-59; the last minute is 59`},
		{"0 24 * * *", "E010", "24", `hour "24" is out of range 0-23; midnight is hour "0"`},
		{"0 0 0 * *", "E010", "0", `day of month "0" is out of range 1-31; the first day is 1`},
		{"0 0 1 0 *", "E010", "0", `month "0" is out of range 1-12; the first month is 1`},
		{"0 0 1 1 8", "E010", "8", `day of week "8" is out of range 0-7`},
		{" 0 5,61 * * *", "E010", "61", `hour "61" is out of range 0-23`},
		{"0 5,7-40/2,3 * * *", "E010", "7-40/2", `hour "40" is out of range 0-23`},
		{"x * * * *", "E010", "x", `minute "x" is not 0-59`},
		{"0 0 * foo *", "E010", "foo", `month "foo" is not 1-12 or JAN-DEC`},

		{"0 0 * * MONDAY", "E010", "MONDAY", `day of week "MONDAY" is not 0-7 or SUN-SAT; did you mean MON? Names have three letters`},
		{"0 0 * sept *", "E010", "sept", `month "sept" is not 1-12 or JAN-DEC; did you mean SEP? Names have three letters`},
		{"0 0 * * JAN", "E010", "JAN", `day of week "JAN" is not 0-7 or SUN-SAT; JAN belongs in the field month`},
		{"0 0 MON * *", "E010", "MON", `day of month "MON" is not 1-31; MON belongs in the field day of week`},

		{"0 22-2 * * *", "E010", "22-2", `hour range "22-2" runs backwards; write "22-23,0-2"`},
		{"0 23-1 * * *", "E010", "23-1", `hour range "23-1" runs backwards; write "23,0-1"`},
		{"0 22-0 * * *", "E010", "22-0", `hour range "22-0" runs backwards; write "22-23,0"`},
		{"0 22-2/2 * * *", "E010", "22-2/2", `hour range "22-2" runs backwards; write the values: "22,0,2"`},
		{"0 0 * NOV-FEB *", "E010", "NOV-FEB", `month range "NOV-FEB" runs backwards; write "NOV-DEC,JAN-FEB"`},
		{"0 0 * 11-2/2 *", "E010", "11-2/2", `month range "11-2" runs backwards; write the values: "11,1"`},
		{"0 0 * * FRI-MON", "E010", "FRI-MON", `day of week range "FRI-MON" runs backwards; write "FRI-SAT,SUN-MON"`},
		{"0 0 * * 6-1", "E010", "6-1", `day of week range "6-1" runs backwards; write "6,0-1"`},
		{"0 0 * * 7-2", "E010", "7-2", `day of week range "7-2" runs backwards; write "0-2"`},
		{"0 0 * * 5-0", "E010", "5-0", `day of week range "5-0" runs backwards; write "5-6,0"`},

		{"*/0 * * * *", "E010", "*/0", `minute "*/0" has the step 0; a step is at least 1`},
		{"*/ * * * *", "E010", "*/", `minute "*/" has no number after the slash; a step is written as in */5`},
		{"/5 * * * *", "E010", "/5", `minute "/5" has nothing before the slash; did you mean "*/5"?`},
		{"*/5/2 * * * *", "E010", "*/5/2", `minute "*/5/2" has two slashes; one step is allowed, as in */5`},
		{"*/+5 * * * *", "E010", "*/+5", `minute "*/+5" has a step with a sign; a step is a plain number from 1`},
		{"*/x * * * *", "E010", "*/x", `minute "*/x" has a step that is not a number; a step is a plain number from 1`},
		{"*/99999999999999999999 * * * *", "E010", "*/99999999999999999999", `minute "*/99999999999999999999" has a step that is too large; the values are 0-59`},
		{"*5 * * * *", "E010", "*5", `minute "*5" is not 0-59; did you mean "*/5"?`},
		{"** * * * *", "E010", "**", `minute "**" is not 0-59; write one "*"`},
		{"*-30 * * * *", "E010", "*-30", `minute "*-30" is a range that begins with *; a range is written as in 0-59`},
		{"+5 * * * *", "E010", "+5", `minute "+5" has a sign; write "5"`},
		{"-5 * * * *", "E010", "-5", `minute "-5" begins with a sign or lacks the start of a range; write "5", or the range "0-5"`},
		{"5- * * * *", "E010", "5-", `minute "5-" is a range without an end; did you mean "5-59"?`},
		{"1-2-3 * * * *", "E010", "1-2-3", `minute "1-2-3" has two hyphens; a range is written as in 1-5, with a step as in 1-5/2`},
		{"1,,2 * * * *", "E010", "1,,2", `minute "1,,2" has an empty list item; a list has one comma between two values and no blank`},
		{"0, 5 * * * *", "E010", "0,", `second "0," has an empty list item; a list has one comma between two values and no blank`},
		{"? * * * *", "E010", "?", `minute "?" is not 0-59; write "*"; "?" stands alone in a day field`},
		{"0 0 1,? * *", "E010", "?", `day of month "?" is not 1-31; "?" stands alone in its field and means "*"`},
		{"0 0 ?/2 * *", "E010", "?/2", `day of month "?" is not 1-31; "?" stands alone in its field and means "*"`},

		{"0 0 L * *", "E010", "L", `day of month "L": the last day of a month (L) is not read; write "28-31" and let the job look whether tomorrow is the first`},
		{"0 0 L-3 * *", "E010", "L-3", `day of month "L-3": the last day of a month (L) is not read; write "28-31" and let the job look whether tomorrow is the first`},
		{"0 0 LW * *", "E010", "LW", `day of month "LW": the nearest working day (W) is not read; run on "MON-FRI" in the field day of week and let the job look at the date`},
		{"0 0 15W * *", "E010", "15W", `day of month "15W": the nearest working day (W) is not read; run on "MON-FRI" in the field day of week and let the job look at the date`},
		{"0 0 * * FRIL", "E010", "FRIL", `day of week "FRIL": the last week day of a month (L) is not read; run on every such week day and let the job look at the date`},
		{"0 0 * * FRI#2", "E010", "FRI#2", `day of week "FRI#2": the n-th week day of a month (#) is not read; run on every such week day and let the job look at the date`},
		{"0~30 * * * *", "E010", "0~30", `minute "0~30": random ranges (~) are not read; choose a fixed value`},
		{"H * * * *", "E010", "H", `minute "H": H, a value that the program picks, is not read; choose a fixed value`},
		{"H/15 * * * *", "E010", "H/15", `minute "H/15": H, a value that the program picks, is not read; choose a fixed value`},
		{"H(0-29)/10 * * * *", "E010", "H(0-29)/10", `minute "H(0-29)/10": H, a value that the program picks, is not read; choose a fixed value`},
		{"l * * * *", "E010", "l", `minute "l" is not 0-59`},

		{"", "E011", "", `the expression is empty; write five fields such as "30 1 * * *", or a descriptor such as "@daily"`},
		{"5", "E011", "5", `1 field instead of five or six; five fields are: minute, hour, day of month, month, day of week; six begin with the second`},
		{" * * * *\n", "E011", "* * * *", `4 fields instead of five or six; five fields are: minute, hour, day of month, month, day of week; six begin with the second`},
		{"0 0 12 1 1 ? 2027", "E011", "2027", `7 fields: a year field ("2027") is not read; leave it out, and limit the time with startAt and endAt`},
		{"0 0 12 1 1 ? *", "E011", "*", `7 fields: a year field ("*") is not read; leave it out, and limit the time with startAt and endAt`},
		{"0 12 1 1 * 2027", "E011", "2027", `six fields begin with the second; a year field ("2027") is not read; leave it out, and limit the time with startAt and endAt`},
		{"0 12 1 1 * 2027-2030", "E011", "2027-2030", `six fields begin with the second; a year field ("2027-2030") is not read; leave it out, and limit the time with startAt and endAt`},
		{"30 1 * * * backup", "E010", "*", ""},
		{"* * * * * backup", "E010", "backup", `day of week "backup" is not 0-7 or SUN-SAT; six fields begin with the second; what to run is not part of the expression`},

		{"0 0 31 2,4 *", "E012", "0 0 31 2,4 *", `"0 0 31 2,4 *" never fires (February and April have no day 31)`},
		{" 0 0 31 2 * ", "E012", "0 0 31 2 *", `"0 0 31 2 *" never fires (February has no day 31)`},
		{"0 0 30-31 2 ?", "E012", "0 0 30-31 2 ?", `"0 0 30-31 2 ?" never fires (February has no day 30 or 31)`},
		{"0 0 31 4,6,9,11 */2", "E012", "0 0 31 4,6,9,11 */2", `"0 0 31 4,6,9,11 */2" never fires (April, June, September and November have no day 31)`},

		{"CRON_TZ=Asia/Tokyo 30 4 * * *", "E013", "CRON_TZ=Asia/Tokyo", `CRON_TZ= is not part of an expression; use timeZone: Asia/Tokyo`},
		{"TZ= * * * * *", "E013", "TZ=", `TZ= is not part of an expression; use timeZone`},
		{"tz = UTC 0 5 * * *", "E013", "tz = UTC", `tz= is not part of an expression; use timeZone: UTC`},
		{"0 5 * * * TZ=UTC", "E013", "TZ=UTC", `TZ= is not part of an expression; use timeZone: UTC`},

		{"@every", "E010", "@every", `@every has no duration; write for example "@every 10m"`},
		{"@every 5", "E010", "5", `@every: duration "5" has no unit; did you mean "5s"?`},
		{"@every  1 h", "E010", "1 h", `@every: duration "1 h" has a blank; write "1h"`},
		{"@every -1h", "E010", "-1h", `@every: duration "-1h" has a sign; write "1h"`},
		{"@every 1mo", "E010", "1mo", `@every: duration "1mo": months and years have no fixed length; write days, "30d"`},
		{"@every 0", "E015", "0", `@every 0 is shorter than a second; the shortest is "@every 1s"`},
		{"@every 500ms", "E015", "500ms", `@every 500ms is shorter than a second; the shortest is "@every 1s"`},
		{"@every 1m1.5s", "E015", "1m1.5s", `@every 1m1.5s has a fraction of a second; write whole seconds, such as "@every 1m1s"`},
		{"@Daily", "E010", "@Daily", `unknown descriptor "@Daily"; did you mean "@daily"?`},
		{"@EVERY 5m", "E010", "@EVERY", `unknown descriptor "@EVERY"; did you mean "@every"?`},
		{"@daily 5", "E010", "5", `"5" follows @daily, which stands by itself; write "@daily", or five fields`},
		{"@reboot", "E010", "@reboot", `unknown descriptor "@reboot"; a schedule has no restart to wait for: enqueue the job when your service starts`},
		{"@minutely", "E010", "@minutely", `unknown descriptor "@minutely"; write "* * * * *"`},
		{"@nope", "E010", "@nope", `unknown descriptor "@nope"; the descriptors are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and "@every 10m"`},

		{"0 5 * *\n*", "E010", "\n", `a line break inside the expression; write each expression by itself, on one line`},
		{"0 5 * * *\x00", "E010", "\x00", `the control character U+0000 is not allowed`},
		{"0 5\u00a0* * *", "E010", "\u00a0", `the character '\u00a0' (U+00A0) is not ASCII text; write an ordinary space`},
		{"0 5 * * 1–5", "E010", "–", `the character '–' (U+2013) is not ASCII text; write "-"`},
		{"0 5 * * \xff", "E010", "\xff", `the byte 0xff is not ASCII text`},
		{"\ufeff0 5 * * *", "E010", "\ufeff", `the character '\ufeff' (U+FEFF) is not ASCII text; write the expression without the byte order mark before it`},
	} {
		_, err := Parse(tt.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("Parse(%q) gives %v, want %s", tt.text, err, tt.code)
			continue
		}
		if e.Code != tt.code || tt.want != "" && e.Error() != tt.want {
			t.Errorf("Parse(%q):\n got %s %s\nwant %s %s", tt.text, e.Code, e, tt.code, tt.want)
		}
		if part := tt.text[e.Offset : e.Offset+e.Length]; tt.want != "" && part != tt.part {
			t.Errorf("Parse(%q) marks %q, want %q", tt.text, part, tt.part)
		}
	}
}

func TestErrorsAreShort(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t) {
		if _, err := Parse(v.Spec); err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: error of %d bytes: %v", v.ID, len(err.Error()), err)
		}
	}
	long := strings.Repeat("9", 4000)
	for _, text := range []string{
		long + " * * * *", "*/" + long + " * * * *", "0 0 1-" + long + " * *", "0 0 * * " + strings.Repeat("MON#", 900), "@" + long,
		"0 0 1 1 * 2027-" + long, "@daily " + long, "@every " + long + "x", "0 0 31 2" + strings.Repeat(",2", 900) + " *", "a" + long + "-5 * * * *",
		"0 0 5-1/" + long[:18] + " * *", "0 23-" + strings.Repeat("0", 3000) + " * * *",
	} {
		if _, err := Parse(text); err == nil || len(err.Error()) > 400 {
			t.Errorf("Parse(%.30q…): %.500v", text, err)
		}
	}
}

func TestParseTells(t *testing.T) {
	t.Parallel()
	e, err := Parse("\t10,5 */20 9-17/4 ? JAN,jul FRI-SUN\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "10,5 */20 9-17/4 ? JAN,jul FRI-SUN"; e.Text() != want || e.String() != want {
		t.Errorf("Text() = %q, String() = %q, want %q", e.Text(), e.String(), want)
	}
	if !e.HasSeconds() || e.Every() != 0 {
		t.Errorf("HasSeconds() = %v, Every() = %v", e.HasSeconds(), e.Every())
	}
	want := &Fields{
		Second: []int{5, 10}, Minute: []int{0, 20, 40}, Hour: []int{9, 13, 17},
		DayOfMonth: drawn(1, 31, 1), Month: []int{1, 7}, DayOfWeek: []int{0, 5, 6},
	}
	if diff := cmp.Diff(want, e.Fields()); diff != "" {
		t.Errorf("Fields() (-want +got)\n%s", diff)
	}

	every, err := Parse(" @every\t1w2d ")
	if err != nil {
		t.Fatal(err)
	}
	if every.Every() != 9*24*time.Hour || every.HasSeconds() || every.Fields() != nil || every.Text() != "@every\t1w2d" {
		t.Errorf("@every: %v, %v, %v, %q", every.Every(), every.HasSeconds(), every.Fields(), every.Text())
	}
	if daily, err := Parse("@daily"); err != nil || daily.Text() != "@daily" || daily.HasSeconds() {
		t.Errorf("@daily: %v, %v", daily, err)
	}
}

func TestDayOfWeek(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"7": {0}, "0,7": {0}, "SUN": {0}, "0-7": {0, 1, 2, 3, 4, 5, 6}, "FRI-SUN": {0, 5, 6}, "5-sun": {0, 5, 6}, "SUN-SUN": {0},
		"SUN-7": {0, 1, 2, 3, 4, 5, 6}, "0-SUN": {0}, "7-7": {0}, "7-SUN": {0}, "1-7/2": {0, 1, 3, 5}, "1/2": {0, 1, 3, 5}, "5/2": {0, 5},
		"7/2": {0}, "*/7": {0}, "*/2": {0, 2, 4, 6}, "6-7/9": {6},
	} {
		e, err := Parse("0 0 * * " + text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, e.Fields().DayOfWeek); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}
