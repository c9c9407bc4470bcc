package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/internal/schedulefile"
)

// expression reads an expression of the command line. A mistake in it is shown
// with a caret.
func expression(from, text string) (*cronexpr.Expression, error) {
	e, err := cronexpr.Parse(text)
	var bad *cronexpr.Error
	if errors.As(err, &bad) {
		message := fmt.Sprintf("%s: %s: %s", from, bad.Code, bad.Message)
		return nil, &failure{code: exitUsage, err: errors.New(message), next: bad.Hint, excerpt: mark(text, bad.Offset, bad.Length)}
	}
	return e, err
}

// mark underlines a part of a text, if it is short and plain enough to be shown on
// a line.
func mark(text string, offset, length int) []string {
	const most = 70
	if len(text) > most || strings.TrimSpace(text) == "" || !printable(text) || offset+length > len(text) {
		return nil
	}
	for i := range len(text) {
		if text[i] > '~' {
			return nil // bytes are not columns
		}
	}
	return []string{text, strings.Repeat(" ", offset) + strings.Repeat("^", max(length, 1))}
}

// zone reads --tz. The default is UTC, as in a file.
func (v *values) zone(flag string) *time.Location {
	found, ok := v.find(flag)
	if !ok {
		return time.UTC
	}
	loc, err := schedulefile.LoadZone(found.text)
	if err != nil {
		v.refuse(found.from, err.Error())
		return time.UTC
	}
	return loc
}

// zoned is an instant in JSON as the clock of its zone shows it, with the offset;
// null if there is none.
type zoned time.Time

func (z zoned) MarshalJSON() ([]byte, error) {
	if time.Time(z).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + time.Time(z).Format(time.RFC3339) + `"`), nil
}

// instants are columns of a table for instants: as the clock of the zone shows them,
// with weekday and offset, and in UTC. Seconds are left out if all are zero.
type instants struct {
	loc     *time.Location
	seconds bool
}

func instantsOf(loc *time.Location, list []time.Time) instants {
	i := instants{loc: loc}
	for _, t := range list {
		i.seconds = i.seconds || t.Unix()%60 != 0
	}
	return i
}

// utc reports whether the zone shows nothing that UTC does not.
func (i instants) utc() bool { return i.loc.String() == "UTC" }

func (i instants) columns() []column {
	if i.utc() {
		return []column{{head: "UTC"}}
	}
	return []column{{head: i.loc.String(), exact: true}, {head: "UTC"}}
}

func (i instants) cells(t time.Time) []cell {
	form := "Mon 2006-01-02 15:04"
	if i.seconds {
		form += ":05"
	}
	if i.utc() {
		return []cell{plain(t.UTC().Format(form))}
	}
	return []cell{plain(t.In(i.loc).Format(form + " -07:00")), plain(t.UTC().Format(form))}
}
