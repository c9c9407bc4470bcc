package bundled

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// httpArgs are the args of http, which makes one HTTP request.
type httpArgs struct {
	url     value
	method  string // POST
	headers []named
	body    []byte // nil for none
	isJSON  bool   // of the body
	expect  []statusRange
}

// statusRange is a range of status codes, both ends included.
type statusRange struct{ from, to int }

func (a httpArgs) expects(status int) bool {
	for _, r := range a.expect {
		if r.from <= status && status <= r.to {
			return true
		}
	}
	return false
}

func decodeHTTP(raw json.RawMessage) (httpArgs, []Problem) {
	args := httpArgs{method: http.MethodPost}
	var text *string
	var encoded []byte
	problems := decode(raw, fields{
		{name: "url", required: true, aka: []string{"uri", "endpoint", "address", "href", "target"}, read: coded("E021", valueOf(&args.url, badURL))},
		{name: "method", aka: []string{"verb", "httpmethod"}, read: word(&args.method,
			[]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, nil)},
		{name: "headers", aka: []string{"header"}, read: valuesOf(&args.headers, badHeaderName, http.CanonicalHeaderKey, badHeaderValue)},
		{name: "body", aka: []string{"text"}, read: bodyText(&text)},
		{name: "json", aka: []string{"data", "payload", "message"}, read: payloadOf(&encoded)},
		{name: "expectStatus", aka: []string{"expect", "status", "statuscode", "expectedstatus", "expectstatuses", "success"}, read: statuses(&args.expect)},
		{name: "secret", aka: []string{"signature", "sign"}, read: notYet},
	})
	if args.expect == nil {
		args.expect = []statusRange{{200, 299}}
	}
	given := ""
	switch {
	case text != nil && encoded != nil:
		problems = append(problems, problem("json", `must not be given together with "body"`, "leave one of them out"))
	case text != nil:
		given, args.body = "body", []byte(*text)
	case encoded != nil:
		given, args.body, args.isJSON = "json", encoded, true
	}
	if given != "" && (args.method == http.MethodGet || args.method == http.MethodHead) {
		p := problem(given, "must not be given with the method "+args.method, "use POST, or put it into the URL")
		p.Code = "E021"
		problems = append(problems, p)
	}
	return args, problems
}

// notYet refuses a field that a later version has.
func notYet(f string, _ json.RawMessage) []Problem {
	p := problem(f, "is known, but not in this version", "leave it out; requests are not signed yet")
	p.Code = "E025"
	return []Problem{p}
}

func bodyText(to **string) reader {
	return func(f string, raw json.RawMessage) []Problem {
		var s string
		*to = &s
		problems := text(&s)(f, raw)
		if kind := kindOf(raw); kind == kindObject || kind == kindList {
			problems[0].Hint = `json sends a value encoded`
		}
		return problems
	}
}

// payloadOf reads any value as its compact encoding, in which numbers and the order
// of keys stay as they are.
func payloadOf(to *[]byte) reader {
	return func(_ string, raw json.RawMessage) []Problem {
		var b bytes.Buffer
		_ = json.Compact(&b, raw) // it is valid
		*to = b.Bytes()
		return nil
	}
}

// urlOf checks what can be checked of a URL before its host is looked up.
func urlOf(text string) (u *url.URL, what, hint string) {
	const example = `for example "https://api.example.com/sync"`
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return nil, "must be an http or https URL with a host", example
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, "must have a port from 1 to 65535", ""
		}
	}
	return u, "", ""
}

// coded gives the problems with a field whose text is wrong a code of its own.
func coded(code string, read reader) reader {
	return func(f string, raw json.RawMessage) []Problem {
		problems := read(f, raw)
		for i := range problems {
			if kindOf(raw) == kindText {
				problems[i].Code = code
			}
		}
		return problems
	}
}

func badURL(text string) (what, hint string) {
	_, what, hint = urlOf(text)
	if what == "" {
		return "", ""
	}
	return what + ", not " + quote(text), hint
}

// ownHeaders are set by bide, or by the connection.
var ownHeaders = []string{"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func badHeaderName(name string) (what, hint string) {
	canonical := http.CanonicalHeaderKey(name)
	if name == "" || strings.IndexFunc(name, func(r rune) bool { return !tokenRune(r) }) >= 0 {
		return "is not the name of a header", "letters, digits and - are"
	}
	if strings.HasPrefix(canonical, "Bide-") {
		return "must not begin with Bide-", "bide tells the job's identity in those"
	}
	for _, own := range ownHeaders {
		if canonical == own {
			return "is set by bide itself", "leave it out"
		}
	}
	return "", ""
}

// tokenRune reports whether RFC 9110 allows r in the name of a header.
func tokenRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

func badHeaderValue(text string) (what, hint string) {
	if !headerValue(text) {
		return "must not contain control characters", ""
	}
	return "", ""
}

func headerValue(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}

// statuses reads 200, "200-299", or a list of such.
func statuses(to *[]statusRange) reader {
	one := oneOf(wantStatus, map[kind]reader{kindNumber: status(to), kindText: status(to)})
	return oneOf(wantStatus+", or a list of such", map[kind]reader{kindNumber: one, kindText: one, kindList: listOf(one)})
}

const wantStatus = `a status such as 204 or a range such as "200-299"`

func status(to *[]statusRange) reader {
	return func(f string, raw json.RawMessage) []Problem {
		written := string(raw)
		if kindOf(raw) == kindText {
			if p := unmarshal(f, raw, &written); p != nil {
				return p
			}
		}
		first, last, isRange := strings.Cut(written, "-")
		from, err1 := strconv.Atoi(strings.TrimSpace(first))
		end, err2 := from, error(nil)
		if isRange {
			end, err2 = strconv.Atoi(strings.TrimSpace(last))
		}
		switch {
		case err1 != nil || err2 != nil:
			return []Problem{problem(f, "must be "+wantStatus+", not "+quote(written), "")}
		case from < 100 || end > 599 || end < from:
			return []Problem{problem(f, "must be within 100 to 599, the lower first, not "+quote(written), "")}
		}
		*to = append(*to, statusRange{from, end})
		return nil
	}
}
