package schedulefile

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/cronexpr"
)

var (
	callForm   = regexp.MustCompile(`(?i)^(crontab|timedelta|rate|cron)\((.*)\)$`)
	namedValue = regexp.MustCompile(`^\s*([a-z_]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^,'"]+?))\s*(?:,|$)`)
	everyForm  = regexp.MustCompile(`(?i)^@?every +(.+)$`)
)

// meantExpression writes as an expression of ours what other products take for a
// schedule: crontab(minute=0, hour=7) and timedelta(minutes=5) of Celery,
// rate(5 minutes) and cron(0 7 * * ? *) of AWS, "every 5 minutes" and plain
// durations of many. It is empty if it cannot.
func meantExpression(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 200 {
		return ""
	}
	meant := ""
	if m := callForm.FindStringSubmatch(text); m != nil {
		switch strings.ToLower(m[1]) {
		case "crontab":
			meant = fromFields(m[2])
		case "timedelta":
			meant = fromTimedelta(m[2])
		case "rate":
			meant = everyText(m[2])
		case "cron":
			meant = m[2]
			if words := strings.Fields(m[2]); len(words) == 6 {
				meant = strings.Join(words[:5], " ") // the sixth is the year
			}
		}
	} else if m := everyForm.FindStringSubmatch(text); m != nil {
		meant = everyText(m[1])
	} else if lower := strings.ToLower(text); !strings.HasPrefix(lower, "@") && isDescriptor("@"+lower) {
		meant = "@" + lower
	} else {
		meant = everyText(text)
	}
	if _, err := cronexpr.Parse(meant); err != nil || meant == text {
		return ""
	}
	return meant
}

func isDescriptor(text string) bool {
	_, err := cronexpr.Parse(text)
	return err == nil
}

func everyText(text string) string {
	if d := durationText(strings.ToLower(strings.TrimSpace(text))); d != "" {
		return "@every " + d
	}
	return ""
}

// arguments reads name=value pairs; nil if there is anything else.
func arguments(text string) map[string]string {
	values := map[string]string{}
	for strings.TrimSpace(text) != "" {
		m := namedValue.FindStringSubmatch(text)
		if m == nil {
			return nil
		}
		values[m[1]] = strings.ReplaceAll(m[2]+m[3]+m[4], " ", "")
		text = text[len(m[0]):]
	}
	return values
}

// cronFields are the arguments of Celery's crontab, in the order of the fields.
var cronFields = []string{"minute", "hour", "day_of_month", "month_of_year", "day_of_week"}

func fromFields(text string) string {
	values := arguments(text)
	if values == nil {
		return ""
	}
	return expressionOf(func(name string) string {
		v := values[name]
		delete(values, name)
		return v
	}, func() bool { return len(values) == 0 })
}

// expressionOf puts the five fields together, a missing one being "*". done tells
// at the end whether that was all.
func expressionOf(value func(name string) string, done func() bool) string {
	var fields []string
	for _, name := range cronFields {
		v := value(name)
		if v == "" {
			v = "*"
		}
		fields = append(fields, v)
	}
	if !done() {
		return ""
	}
	return strings.Join(fields, " ")
}

func fromTimedelta(text string) string {
	written := ""
	values := arguments(text)
	for _, unit := range []string{"weeks", "days", "hours", "minutes", "seconds"} {
		if v, ok := values[unit]; ok {
			written += v + unit[:1]
			delete(values, unit)
		}
	}
	if written == "" || len(values) > 0 {
		return ""
	}
	return everyText(written)
}

// meantSchedule is meantExpression for a value that is no text: a number of
// seconds, or a map of fields.
func meantSchedule(v *yaml.Node) string {
	switch {
	case v.Tag == "!!int" || v.Tag == "!!float":
		if d := meantDuration(v); d != "" && isDescriptor("@every "+d) {
			return "@every " + d
		}
	case isMap(v) && len(v.Content) <= 12:
		values := map[string]string{}
		for i := 0; i+1 < len(v.Content); i += 2 {
			values[plainName(deref(v.Content[i]).Value)] = deref(v.Content[i+1]).Value
		}
		for _, alias := range [][2]string{{"day", "dayofmonth"}, {"month", "monthofyear"}, {"weekday", "dayofweek"}} {
			if given, ok := values[alias[0]]; ok {
				values[alias[1]] = given
				delete(values, alias[0])
			}
		}
		meant := expressionOf(func(name string) string {
			name = plainName(name)
			defer delete(values, name)
			return values[name]
		}, func() bool { return len(values) == 0 })
		if _, err := cronexpr.Parse(meant); err == nil {
			return meant
		}
	}
	return ""
}

func didYouMeanExpression(meant string) string {
	return "did you mean " + strconv.Quote(meant) + "?"
}
