package cli

import (
	"bytes"
	"encoding/json"
	"time"
)

// writeJSON writes one document, on one line unless people look at it.
func (p *program) writeJSON(doc any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if p.env.Terminal {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := p.stdout.Write(cleanJSON(b.Bytes()))
	return err
}

// stamp is a time in JSON: RFC 3339, UTC, milliseconds; null if there is none.
type stamp time.Time

const stampForm = "2006-01-02T15:04:05.000Z"

func (s stamp) String() string { return time.Time(s).UTC().Format(stampForm) }

func (s stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + s.String() + `"`), nil
}

// seconds is a duration in JSON: a number of seconds.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// text is a text in JSON that is null when empty.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(string(t))
	return bytes.TrimSpace(b.Bytes()), err
}
