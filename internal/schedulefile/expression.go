package schedulefile

import (
	"errors"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/bide-go/bide/internal/cronexpr"
	"github.com/bide-go/bide/scheduler"
)

// expression is one cron expression and where it stands.
type expression struct {
	scope  scope
	node   *yaml.Node
	text   string
	parsed *cronexpr.Expression
}

// expressions reads the field schedule: one text or a list of them.
func (s scope) expressions(p pair) (list []expression) {
	switch {
	case isNull(p.value) || isList(p.value) && len(p.value.Content) == 0:
		s.fail("E005", p.key, s.label()+" is missing", `give a cron expression such as "30 1 * * *"`)
	case isList(p.value):
		for i, n := range p.value.Content {
			item := pair{key: p.key, value: deref(n)}
			if x, ok := s.item(i).expression(item); ok {
				list = append(list, x)
			}
		}
	case isText(p.value):
		if x, ok := s.expression(p); ok {
			list = append(list, x)
		}
	default:
		hint := quoteHint(p.value)
		if meant := meantSchedule(p.value); meant != "" {
			hint = didYouMeanExpression(meant)
		}
		s.wrongType(p, "text or a list of texts", hint)
	}
	return list
}

func (s scope) expression(p pair) (x expression, ok bool) {
	text, ok := s.text(p)
	if !ok {
		return x, false
	}
	parsed, err := cronexpr.Parse(text)
	if err == nil {
		return expression{s, p.value, text, parsed}, true
	}
	code, message, hint, at := "E010", err.Error(), "", s.src.span(p.at())
	var ce *cronexpr.Error
	if errors.As(err, &ce) {
		code, message, hint = ce.Code, ce.Message, ce.Hint
		// What is wrong with the whole is shown with its quotes, the rest inside.
		if whole := ce.Offset == 0 && ce.Length >= len(text); !whole && code != "E012" {
			at = s.src.within(p.value, ce.Offset, ce.Length)
		}
	}
	if meant := meantExpression(text); meant != "" {
		at, hint = s.src.span(p.at()), didYouMeanExpression(meant)
	}
	s.failAt(code, at, message, hint)
	return x, false
}

// warnings notes what is doubtful about the expression in that zone; nil if the
// zone is wrong, which has been said. Clock changes concern the definition's own time.
func (x expression) warnings(zone *time.Location, now time.Time, d *scheduler.Definition) {
	if x.scope.src.full(SeverityWarning) {
		return
	}
	from, to := d.Within(now, cronexpr.Ahead(now))
	for _, w := range x.parsed.WarningsWithin(zone, from, to) {
		if w.Code == "W104" && (now.IsZero() || zone == nil) {
			continue
		}
		x.scope.warn(w.Code, x.node, w.Message, w.Hint)
	}
}
