package bundled

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// maxTail is how much of a command's output is kept: its end.
const maxTail = 4 << 10

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool // something was written before what is kept
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > maxTail {
		p, t.cut, t.buf = p[len(p)-maxTail:], true, t.buf[:0]
	}
	if over := len(t.buf) + len(p) - maxTail; over > 0 {
		t.cut = true
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// end is the end of the output without secrets, as text of at most limit bytes.
func (t *tail) end(s *secrets, limit int) string {
	t.mu.Lock()
	text, cut := string(t.buf), t.cut
	t.mu.Unlock()
	if cut {
		text = s.CleanEnd(text)
	} else {
		text = s.Clean(text)
	}
	// Each byte that is no text becomes a mark of three, here and not where the
	// error is stored, which would cut off its end.
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	text = strings.TrimSpace(text)
	from := max(len(text)-limit, 0)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
