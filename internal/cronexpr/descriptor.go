package cronexpr

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/duration"
)

// descriptors are the names of crontab(5) for common expressions.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// foreignDescriptors are names that other programs know.
var foreignDescriptors = map[string]string{
	"@reboot":       "a schedule has no restart to wait for: enqueue the job when your service starts",
	"@every_minute": `write "* * * * *"`,
	"@minutely":     `write "* * * * *"`,
	"@every_second": `write "@every 1s"`,
	"@quarterly":    `write "0 0 1 */3 *"`,
	"@weekdays":     `write "0 0 * * MON-FRI"`,
	"@weekends":     `write "0 0 * * SAT,SUN"`,
}

func parseDescriptor(text string, words []word) (*Expression, *Error) {
	name := words[0]
	refuse := func(at word, message, hint string) *Error {
		return &Error{Code: CodeSyntax, Offset: at.offset, Length: len(at.text), Message: message, Hint: hint}
	}
	if name.text == "@every" {
		return parseEvery(text, words)
	}
	fields, known := descriptors[name.text]
	if !known {
		lower := strings.ToLower(name.text)
		hint := `the descriptors are @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and "@every 10m"`
		if _, ok := descriptors[lower]; ok || lower == "@every" {
			hint = fmt.Sprintf("did you mean %q?", lower)
		} else if foreign, ok := foreignDescriptors[lower]; ok {
			hint = foreign
		}
		return nil, refuse(name, fmt.Sprintf("unknown descriptor %s", quote(name.text)), hint)
	}
	if len(words) > 1 {
		return nil, refuse(words[1], fmt.Sprintf("%s follows %s, which stands by itself", quote(words[1].text), name.text),
			fmt.Sprintf("write %q, or five fields", name.text))
	}
	e, err := parse(fields)
	if err != nil {
		return nil, err // a mistake in the table above
	}
	e.text = text
	return e, nil
}

// parseEvery reads the duration of @every. It may have blanks before it, but none
// inside.
func parseEvery(text string, words []word) (*Expression, *Error) {
	e := &Error{Code: CodeSyntax, Offset: words[0].offset, Length: len(text)}
	if len(words) == 1 {
		e.Message, e.Hint = "@every has no duration", `write for example "@every 10m"`
		return nil, e
	}
	// From the first word of the duration to the end, so that "1 h" is shown whole.
	e.Offset = words[1].offset
	given := text[e.Offset-words[0].offset:]
	e.Length = len(given)

	d, err := duration.Parse(given)
	var bad *duration.Error
	switch {
	case strings.Trim(given, "0") == "":
		d = 0 // a zero without a unit: that it is too short matters more
	case errors.As(err, &bad):
		e.Message, e.Hint = "@every: "+bad.Message, bad.Hint
		return nil, e
	}
	e.Code = CodeInterval
	switch {
	case d < time.Second:
		e.Message, e.Hint = fmt.Sprintf("@every %s is shorter than a second", given), `the shortest is "@every 1s"`
		return nil, e
	case d%time.Second != 0:
		e.Message = fmt.Sprintf("@every %s has a fraction of a second", given)
		e.Hint = fmt.Sprintf("write whole seconds, such as %q", "@every "+duration.Format(d.Truncate(time.Second)))
		return nil, e
	}
	return &Expression{text: text, every: d}, nil
}
