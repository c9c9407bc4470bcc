package schedulefile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Whoever may write a file must not be able to stop the process that reads it:
// a file of the largest size is read in well under a second, whatever is in it.
// These are a quarter of that, and the limit here leaves room for slow machines.
func TestLargeFilesAreReadQuickly(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many large files")
	}
	const head = "version: 1\nschedules:\n"
	fill := func(part func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxFile/4; i++ {
			b.WriteString(part(i))
		}
		return b.String()
	}
	tests := map[string]string{
		"clock changes": head + fill(func(i int) string {
			return fmt.Sprintf("  s%d: {schedule: '%d 2 * * *', timeZone: Europe/Berlin, job: x}\n", i, i%60)
		}),
		"intervals": head + fill(func(i int) string {
			return fmt.Sprintf("  s%d: {schedule: ['%d 2 %d * *', '5 5 * * %d'], jitter: 3s, timeout: 5m, catchUp: All, job: x}\n", i, i%60, i%28+1, i%7)
		}),
		"crowds": "defaults: {timeZone: Europe/Berlin}\n" + head + fill(func(i int) string { return fmt.Sprintf("  s%d: {schedule: '@daily', job: x}\n", i) }),
		"windows": head + fill(func(i int) string {
			return fmt.Sprintf("  s%d: {schedule: '0 0 29 2 *', startAt: 2097-01-01T00:00:00Z, endAt: 2103-01-01T00:00:00Z, job: x}\n", i)
		}),
		"secrets": head + fill(func(i int) string {
			return fmt.Sprintf("  s%d: {schedule: '@daily', job: http, args: {headers: {Authorization: x, Cookie: y, Token: {file: /%d}}}}\n", i, i)
		}),
		"a crowd of expressions": head + "  a: {job: x, timeZone: Europe/Berlin, jitter: 3s, schedule: [" + fill(func(i int) string { return fmt.Sprintf("'%d %d 1 * *', ", i%60, i/60%24) }) + "]}\n",
		"one long secret":        head + "  a: {job: http, schedule: '@daily', args: {headers: {Authorization: '" + fill(func(int) string { return "Bearer " }) + "'}}}\n",
		"foreign words": head + fill(func(i int) string {
			return fmt.Sprintf("  s%d: {schedule: 'crontab(minute=1)', command: a, ttl: 5}\n", i)
		}),
		"expressions":  head + "  a: {job: x, timeZone: Europe/Berlin, schedule: [" + fill(func(int) string { return "'* 2 * * *', " }) + "]}\n",
		"unknown keys": head + "  a: {" + fill(func(i int) string { return fmt.Sprintf("k%d, ", i) }) + "}\n",
		"bad zones":    head + "  a: {b: 1}\n" + fill(func(i int) string { return fmt.Sprintf("  s%d: {timeZone: Berlix%d}\n", i, i) }),
		"long field":   head + "  a: {job: x, schedule: '" + fill(func(int) string { return "1," }) + "1 * * * *'}\n",
		"long text":    head + "  a: {job: x, schedule: '@daily', args: \"" + fill(func(int) string { return `\0` }) + "\"}\n",
		"empty values": head + "  a: {job: x, schedule: '@daily', args: [" + fill(func(int) string { return "~," }) + "]}\n",
	}
	for name, text := range tests {
		start := time.Now()
		r := load(text)
		_ = report(r)
		// Half a second here; what grows with the square of the file takes hours.
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
		if len(text) > maxFile || r.Schedules == 0 {
			t.Errorf("%s: %d bytes, %d schedules: the file was not read", name, len(text), r.Schedules)
		}
	}
}
