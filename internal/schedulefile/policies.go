package schedulefile

import (
	"fmt"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
	"github.com/bide-go/bide/scheduler"
)

var (
	concurrencyWords = []string{
		string(scheduler.Allow), string(scheduler.Forbid), string(scheduler.Replace), string(scheduler.Queue),
	}
	catchUpWords = []string{string(scheduler.Skip), string(scheduler.Latest), string(scheduler.All)}
)

// The words of other products for the same, as plainName has them.
var (
	foreignConcurrency = map[string]string{
		"allowall": "Allow", "parallel": "Allow", "concurrent": "Allow", "overlap": "Allow", "start": "Allow",
		"true": "Allow", "yes": "Allow", "unlimited": "Allow",
		"skip": "Forbid", "deny": "Forbid", "prohibit": "Forbid", "disallow": "Forbid", "drop": "Forbid", "ignore": "Forbid",
		"reject": "Forbid", "never": "Forbid", "false": "Forbid", "no": "Forbid", "none": "Forbid", "single": "Forbid",
		"cancelother": "Replace", "terminateother": "Replace", "cancel": "Replace", "terminate": "Replace", "kill": "Replace",
		"bufferone": "Queue", "bufferall": "Queue", "buffer": "Queue", "wait": "Queue", "serial": "Queue", "enqueue": "Queue",
	}
	foreignCatchUp = map[string]string{
		"none": "Skip", "never": "Skip", "ignore": "Skip", "no": "Skip", "false": "Skip", "off": "Skip", "donothing": "Skip",
		"drop": "Skip", "forbid": "Skip",
		"last": "Latest", "newest": "Latest", "recent": "Latest", "once": "Latest", "one": "Latest", "fireoncenow": "Latest",
		"fireandproceed": "Latest", "runonce": "Latest", "coalesce": "Latest", "true": "Latest", "yes": "Latest", "on": "Latest",
		"every": "All", "each": "All", "everything": "All", "allow": "All", "ignoremisfires": "All", "backfill": "All",
	}
)

// word reads one of a few words, spelt as they are here. foreign maps what others
// call them.
func (s scope) word(p pair, words []string, foreign map[string]string) string {
	for _, w := range words {
		if isText(p.value) && p.value.Value == w {
			return w
		}
	}
	last := len(words) - 1
	list := strings.Join(words[:last], ", ") + " or " + words[last]
	hint := ""
	if meant := meantWord(p.value.Value, words, foreign); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	if !isText(p.value) {
		s.wrongType(p, list, hint)
		return ""
	}
	s.fail("E008", p.at(), fmt.Sprintf("%s must be %s, not %s", s.label(), list, quote(p.value.Value)), hint)
	return ""
}

func meantWord(text string, words []string, foreign map[string]string) string {
	if len(text) > 60 {
		return ""
	}
	plain := strings.ReplaceAll(plainName(strings.TrimSpace(text)), " ", "")
	plain = strings.TrimPrefix(plain, "scheduleoverlappolicy") // as Temporal's constants are named
	for _, w := range words {
		if strings.ToLower(w) == plain {
			return w
		}
	}
	if meant := foreign[plain]; meant != "" {
		return meant
	}
	return nearest(text, words)
}

// leastDeadline is the shortest startingDeadline: below it, hardly a run would start.
const leastDeadline = time.Second

func (s scope) deadline(p pair) time.Duration {
	d := s.duration(p)
	if d > 0 && d < leastDeadline {
		s.fail("E008", p.at(), fmt.Sprintf("%s must be at least %s, not %s", s.label(), duration.Format(leastDeadline), quote(p.value.Value)), "")
		return 0
	}
	return d
}

const maxHistory = 1000

// history reads how many records are kept. A number that is left out is its
// default.
func (s scope) history(p pair) *scheduler.History {
	h := scheduler.DefaultHistory
	if !isMap(p.value) {
		hint := fmt.Sprintf("for example history: {successful: %d, failed: %d}", h.Successful, h.Failed)
		if n, ok := wholeNumberOf(p.value); ok && n >= 0 && n <= maxHistory {
			hint = fmt.Sprintf("did you mean \"history: {successful: %d, failed: %d}\"?", n, n)
		}
		s.wrongType(p, "a map", hint)
		return nil
	}
	pairs, _ := s.pairs(p.value)
	for _, p := range s.sortOut(historyLevel, pairs).order {
		n, ok := s.child(p.name).integer(p, 0, maxHistory)
		switch {
		case !ok:
		case p.name == "successful":
			h.Successful = int(n)
		case p.name == "failed":
			h.Failed = int(n)
		}
	}
	return &h
}

// instant reads a time. What lacks the time of day or the offset gets a hint with
// those of the zone.
func (s scope) instant(p pair, zone string) time.Time {
	const example = `"2026-11-27T00:00:00Z"`
	if !isText(p.value) && p.value.Tag != "!!timestamp" {
		s.wrongType(p, "a time such as "+example, "")
		return time.Time{}
	}
	text := p.value.Value
	var at time.Time
	err := at.UnmarshalText([]byte(text)) // stricter than time.Parse
	switch year := at.UTC().Year(); {
	case err == nil && (at.IsZero() || year < 1 || year > 9999):
		s.fail("E008", p.at(), fmt.Sprintf("%s: the year must be from 1 to 9999, not in %s", s.label(), quote(text)), "leave the field out if there is no bound")
		at = time.Time{}
	case err != nil:
		hint := "write date, time of day and offset, such as " + example
		if meant := meantTime(text, zone); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		s.fail("E008", p.at(), fmt.Sprintf("%s: %s is no time in the form of RFC 3339 with an offset", s.label(), quote(text)), hint)
	}
	return at
}

// meantTime reads what people write for a time and writes it as it has to be, on
// the wall clock of the zone.
func meantTime(text, zone string) string {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return ""
	}
	text = strings.TrimSpace(text)
	for _, layout := range []string{
		time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00",
		"2006-01-02t15:04:05Z07:00", "2006-01-02T15:04:05z", "2006-01-02t15:04:05z", "2006-01-02T15:04:05-0700",
		"2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 UTC",
	} {
		if at, err := time.ParseInLocation(layout, text, loc); err == nil && at.Year() > 0 {
			return at.Format(time.RFC3339)
		}
	}
	return ""
}
